-- Ranks by how much longer their own work takes than that of the median rank. Own work: the step without the time in
-- which its devices did nothing but communicate, since ranks wait for each other there and all steps take equally long.
-- The first step of a run is left out. A rank is a straggler if its median excess is above 3 % of the median step, and
-- if it is that much slower in three quarters of its steps. All medians are the lower of the two in the middle.
WITH own AS (
  SELECT
    s.job,
    s.run,
    s.rank,
    s.step,
    s.step_ns,
    s.step_ns - s.exposed_communication_ns AS own_ns
  FROM steps AS s
  JOIN (SELECT job, run, MIN(step) AS first_step FROM steps WHERE finished GROUP BY job, run) AS f
    ON f.job = s.job AND f.run = s.run
  WHERE s.finished AND s.step > f.first_step
),
of_steps AS (
  SELECT
    job,
    run,
    step,
    MAX(CASE WHEN 2 * own_place = ranks OR 2 * own_place = ranks + 1 THEN own_ns END) AS middle_own_ns,
    MAX(CASE WHEN 2 * step_place = ranks OR 2 * step_place = ranks + 1 THEN step_ns END) AS middle_step_ns
  FROM (
    SELECT
      own.*,
      ROW_NUMBER() OVER (PARTITION BY job, run, step ORDER BY own_ns, rank) AS own_place,
      ROW_NUMBER() OVER (PARTITION BY job, run, step ORDER BY step_ns, rank) AS step_place,
      COUNT(*) OVER (PARTITION BY job, run, step) AS ranks
    FROM own
  ) AS placed
  GROUP BY job, run, step
),
excess AS (
  SELECT
    o.job,
    o.run,
    o.rank,
    o.step,
    o.own_ns,
    o.own_ns - m.middle_own_ns AS excess_ns,
    m.middle_step_ns,
    CASE WHEN 100 * (o.own_ns - m.middle_own_ns) > 3 * m.middle_step_ns THEN 1 ELSE 0 END AS slow
  FROM own AS o
  JOIN of_steps AS m ON m.job = o.job AND m.run = o.run AND m.step = o.step
),
placed_excess AS (
  SELECT
    excess.*,
    ROW_NUMBER() OVER (PARTITION BY job, run, rank ORDER BY excess_ns, step) AS excess_place,
    ROW_NUMBER() OVER (PARTITION BY job, run, rank ORDER BY own_ns, step) AS own_place,
    ROW_NUMBER() OVER (PARTITION BY job, run, rank ORDER BY middle_step_ns, step) AS step_place,
    COUNT(*) OVER (PARTITION BY job, run, rank) AS step_count
  FROM excess
),
of_ranks AS (
  SELECT
    job,
    run,
    rank,
    MAX(step_count) AS step_count,
    CAST(SUM(slow) AS BIGINT) AS slow_steps,
    MAX(CASE WHEN 2 * excess_place = step_count OR 2 * excess_place = step_count + 1 THEN excess_ns END) AS excess_ns,
    MAX(CASE WHEN 2 * own_place = step_count OR 2 * own_place = step_count + 1 THEN own_ns END) AS own_ns,
    MAX(CASE WHEN 2 * step_place = step_count OR 2 * step_place = step_count + 1 THEN middle_step_ns END) AS step_ns,
    CAST(SUM(excess_ns) AS BIGINT) AS excess_sum_ns
  FROM placed_excess
  GROUP BY job, run, rank
)
SELECT
  k.job,
  k.run,
  k.rank,
  r.host,
  k.step_count AS steps,
  k.slow_steps,
  k.own_ns,
  k.excess_ns,
  k.step_ns,
  k.excess_sum_ns,
  CASE WHEN 100 * k.excess_ns > 3 * k.step_ns AND 4 * k.slow_steps >= 3 * k.step_count THEN 1 ELSE 0 END AS straggler,
  r.lost_records,
  r.clock_error_ns
FROM of_ranks AS k
JOIN recordings AS r ON r.job = k.job AND r.run = k.run AND r.rank = k.rank
ORDER BY straggler DESC, excess_ns DESC, job, run, rank
