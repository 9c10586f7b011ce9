-- Device time by kernel, copy and memset, over all ranks of a run.
SELECT
  k.job,
  k.run,
  k.kind,
  k.name,
  k.communication,
  COUNT(DISTINCT k.rank) AS ranks,
  CAST(SUM(k.gpu_ops) AS BIGINT) AS gpu_ops,
  CAST(SUM(k.gpu_sum_ns) AS BIGINT) AS gpu_sum_ns,
  MIN(k.least_ns) AS least_ns,
  MAX(k.most_ns) AS most_ns,
  CAST(SUM(k.bytes) AS BIGINT) AS bytes,
  MAX(r.lost_records) AS lost_records,
  MAX(r.clock_error_ns) AS clock_error_ns
FROM kernels AS k
JOIN (
  SELECT job, run, CAST(SUM(lost_records) AS BIGINT) AS lost_records, MAX(clock_error_ns) AS clock_error_ns
  FROM recordings
  GROUP BY job, run
) AS r ON r.job = k.job AND r.run = k.run
GROUP BY k.job, k.run, k.kind, k.name, k.communication
ORDER BY gpu_sum_ns DESC, job, run, kind, name, communication
