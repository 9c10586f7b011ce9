-- Device time by range, over all ranks and steps of a run. Rows without a path are device work that no range owns, by the
-- reason; with them the sums are all of the device time. gpu_inclusive_ns has the ranges inside.
SELECT
  s.job,
  s.run,
  s.owner,
  s.path,
  COUNT(DISTINCT s.rank) AS ranks,
  CAST(SUM(s.runs) AS BIGINT) AS runs,
  CAST(SUM(s.host_ns) AS BIGINT) AS host_ns,
  CAST(SUM(s.gpu_ops) AS BIGINT) AS gpu_ops,
  CAST(SUM(s.gpu_sum_ns) AS BIGINT) AS gpu_sum_ns,
  CAST(SUM(s.gpu_inclusive_ns) AS BIGINT) AS gpu_inclusive_ns,
  CAST(SUM(s.bytes) AS BIGINT) AS bytes,
  MAX(r.lost_records) AS lost_records,
  MAX(r.clock_error_ns) AS clock_error_ns
FROM summary AS s
JOIN (
  SELECT job, run, CAST(SUM(lost_records) AS BIGINT) AS lost_records, MAX(clock_error_ns) AS clock_error_ns
  FROM recordings
  GROUP BY job, run
) AS r ON r.job = s.job AND r.run = s.run
GROUP BY s.job, s.run, s.owner, s.path
ORDER BY gpu_sum_ns DESC, host_ns DESC, job, run, owner, path NULLS LAST
