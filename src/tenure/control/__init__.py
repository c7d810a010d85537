"""Operations on jobs: what Python code, commands, REST and pages call."""
