-- The sample tenant's plant. Days and minutes are counted from now, so that there is always something to judge.
CREATE TABLE daily_defect (line_id TEXT NOT NULL, days_ago INTEGER NOT NULL, defect_count INTEGER NOT NULL, produced INTEGER NOT NULL, shift TEXT NOT NULL DEFAULT 'day');
INSERT INTO daily_defect (line_id, days_ago, defect_count, produced) VALUES
  ('L01', 0, 96, 1180), ('L01', 1, 31, 1195), ('L01', 2, 28, 1201), ('L01', 3, 25, 1190), ('L01', 4, 22, 1188),
  ('L02', 0, 5, 890), ('L02', 1, 7, 902), ('L02', 2, 6, 880), ('L02', 3, 4, 899), ('L02', 4, 8, 893),
  ('L03', 0, 24, 800), ('L03', 1, 12, 805), ('L03', 2, 9, 799);
-- The rest of 30 days, three shifts each: L01 slowly becomes worse, L02 had one bad night, L03 is even.
WITH RECURSIVE day(ago) AS (SELECT 2 UNION ALL SELECT ago + 1 FROM day WHERE ago < 29),
  shift(name, place) AS (VALUES ('day', 0), ('evening', 1), ('night', 2)),
  line(id, place, produced, defects, growth) AS (VALUES ('L01', 1, 1190, 11, 16), ('L02', 2, 890, 4, 0), ('L03', 3, 800, 9, 0))
INSERT INTO daily_defect (line_id, days_ago, defect_count, produced, shift)
  SELECT line.id, ago,
         defects + growth * (29 - ago) / 27 + (ago * 7 + line.place * 5 + shift.place * 11) % 5
           + CASE WHEN line.id = 'L02' AND ago = 12 AND shift.name = 'night' THEN 22 ELSE 0 END,
         produced + (ago * 13 + line.place * 3 + shift.place * 7) % 17 - 8, shift.name
  FROM day, shift, line
  WHERE NOT EXISTS (SELECT 1 FROM daily_defect d WHERE d.line_id = line.id AND d.days_ago = ago AND d.shift = shift.name)
  ORDER BY ago, line.place, shift.place;
-- Today and yesterday are counted from now; the days before have the hours of their shifts (Seoul is 9 hours ahead).
CREATE VIEW fact_daily_defect AS
  SELECT line_id,
         CASE WHEN days_ago < 2 THEN strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || days_ago || ' day',
                                             CASE days_ago WHEN 0 THEN '-1 minute' ELSE '+0 minute' END)
              ELSE strftime('%Y-%m-%dT%H:%M:%SZ', 'now', 'start of day', '-' || days_ago || ' day',
                            CASE shift WHEN 'day' THEN '+1 hour' WHEN 'evening' THEN '+9 hour' ELSE '+16 hour' END)
         END AS date,
         defect_count, produced,
         round(1.0 * defect_count / produced, 4) AS defect_rate,
         round(1.0 - 1.0 * defect_count / produced, 4) AS yield_rate,
         shift,
         round(19.5 + 60.0 * defect_count / produced + (days_ago * 3 + length(shift)) % 4 * 0.3, 1) AS temperature
  FROM daily_defect;
CREATE TABLE ccp (line_id TEXT NOT NULL, minutes_ago INTEGER NOT NULL, ccp_id TEXT NOT NULL, value REAL NOT NULL, lower_limit REAL NOT NULL, upper_limit REAL NOT NULL);
INSERT INTO ccp VALUES
  ('L01', 5, 'CCP-1', 79.5, 72, 78), ('L01', 20, 'CCP-1', 77.0, 72, 78), ('L01', 40, 'CCP-2', 4.1, 0, 5),
  ('L02', 5, 'CCP-1', 75.0, 72, 78), ('L02', 20, 'CCP-1', 74.2, 72, 78), ('L02', 40, 'CCP-2', 3.8, 0, 5);
CREATE VIEW fact_ccp AS
  SELECT line_id, strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || minutes_ago || ' minute') AS timestamp,
         ccp_id, value, lower_limit, upper_limit
  FROM ccp;
CREATE TABLE quality_log (id INTEGER PRIMARY KEY, line_id TEXT, decision TEXT, confidence REAL, checked_at TEXT, idempotency_key TEXT UNIQUE);
