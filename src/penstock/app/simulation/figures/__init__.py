"""Many virtual runs added up: in several processes, as percentiles and shares."""
