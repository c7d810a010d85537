"""What becomes of the cost as the work grows."""
