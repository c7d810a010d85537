-- Return the orders of a stop for a worker.
CREATE OR REPLACE FUNCTION tenant.stop_orders(record tenant.cancellation) RETURNS jsonb
LANGUAGE sql IMMUTABLE
RETURN jsonb_build_object(
    'cancellation_id', tenant.cancellation_name(record.id, record.intent),
    'intent', record.intent, 'reason', record.reason,
    'by', record.initiated_by, 'force', record.force,
    'grace', tenure.bounded_seconds(record.grace, {grace.max}),
    'ask_for', tenure.bounded_seconds(record.ask_for, {ask_for.max}),
    'last_rung', record.last_rung, 'rollback', record.rollback, 'preserve', record.preserve);
