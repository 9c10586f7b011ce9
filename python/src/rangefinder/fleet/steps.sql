-- Times of each finished step over the ranks of a run. The median is the lower of the two in the middle, found by
-- counting, so that every engine gives the same integer.
WITH ordered AS (
  SELECT
    job,
    run,
    step,
    step_ns,
    items,
    gpu_busy_ns,
    exposed_communication_ns,
    lost_records,
    clock_error_ns,
    ROW_NUMBER() OVER (PARTITION BY job, run, step ORDER BY step_ns, rank) AS place,
    COUNT(*) OVER (PARTITION BY job, run, step) AS ranks
  FROM steps
  WHERE finished
)
SELECT
  job,
  run,
  step,
  MAX(ranks) AS ranks,
  MIN(step_ns) AS least_ns,
  MAX(CASE WHEN 2 * place = ranks OR 2 * place = ranks + 1 THEN step_ns END) AS median_ns,
  MAX(step_ns) AS most_ns,
  CAST(SUM(step_ns) AS BIGINT) AS step_sum_ns,
  CAST(SUM(gpu_busy_ns) AS BIGINT) AS gpu_busy_sum_ns,
  CAST(SUM(exposed_communication_ns) AS BIGINT) AS exposed_communication_sum_ns,
  CAST(SUM(items) AS BIGINT) AS items,
  CAST(SUM(lost_records) AS BIGINT) AS lost_records,
  MAX(clock_error_ns) AS clock_error_ns
FROM ordered
GROUP BY job, run, step
ORDER BY job, run, step
