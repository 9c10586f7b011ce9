-- What recordings of a run lost: a row for all of it, and one for each cause. Sums of a run with losses are too low by
-- what is missing. unknown_ns: device work whose launch is not in the data.
SELECT
  job,
  run,
  '(all)' AS cause,
  COUNT(*) AS recordings,
  MAX(world_size) AS world_size,
  CAST(SUM(CASE WHEN lost_records > 0 THEN 1 ELSE 0 END) AS BIGINT) AS ranks_with_loss,
  CAST(SUM(lost_records) AS BIGINT) AS lost_records,
  CAST(SUM(unknown_ns) AS BIGINT) AS unknown_ns,
  CAST(SUM(gpu_sum_ns) AS BIGINT) AS gpu_sum_ns,
  MAX(clock_error_ns) AS clock_error_ns
FROM recordings
GROUP BY job, run
UNION ALL
SELECT
  h.job,
  h.run,
  h.cause,
  COUNT(DISTINCT h.rank) AS recordings,
  CAST(NULL AS INT) AS world_size,
  COUNT(DISTINCT h.rank) AS ranks_with_loss,
  CAST(SUM(h.count) AS BIGINT) AS lost_records,
  CAST(NULL AS BIGINT) AS unknown_ns,
  CAST(NULL AS BIGINT) AS gpu_sum_ns,
  CAST(NULL AS BIGINT) AS clock_error_ns
FROM health AS h
WHERE h.loss
GROUP BY h.job, h.run, h.cause
ORDER BY job, run, lost_records DESC, cause
