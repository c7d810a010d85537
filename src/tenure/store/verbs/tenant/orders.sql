-- What a worker is told about a stop.
CREATE OR REPLACE FUNCTION tenant.orders(record tenant.cancellation) RETURNS jsonb
LANGUAGE sql IMMUTABLE
RETURN jsonb_build_object(
    'cancellation_id', tenant.cancellation_name(record.id), 'intent', record.intent, 'reason', record.reason,
    'by', record.initiated_by, 'force', record.force, 'grace', extract(epoch FROM record.grace), 'ask_for', extract(epoch FROM record.ask_for),
    'last_rung', record.last_rung, 'rollback', record.rollback, 'preserve', record.preserve);
