-- The sample tenant's plant. Days and minutes are counted from now, so that there is always something to judge.
CREATE TABLE daily_defect (line_id TEXT NOT NULL, days_ago INTEGER NOT NULL, defect_count INTEGER NOT NULL, produced INTEGER NOT NULL);
INSERT INTO daily_defect VALUES
  ('L01', 0, 96, 1180), ('L01', 1, 31, 1195), ('L01', 2, 28, 1201), ('L01', 3, 25, 1190), ('L01', 4, 22, 1188),
  ('L02', 0, 5, 890), ('L02', 1, 7, 902), ('L02', 2, 6, 880), ('L02', 3, 4, 899), ('L02', 4, 8, 893),
  ('L03', 0, 24, 800), ('L03', 1, 12, 805), ('L03', 2, 9, 799);
CREATE VIEW fact_daily_defect AS
  SELECT line_id,
         strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-' || days_ago || ' day') AS date,
         defect_count, produced,
         round(1.0 * defect_count / produced, 4) AS defect_rate,
         round(1.0 - 1.0 * defect_count / produced, 4) AS yield_rate
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
