"""The values of FEEL.

null, boolean, string, list and context are Python's None, bool, str, list and dict; a number is an int or a Decimal.
Dates, times, durations, ranges and functions have classes here.
"""

from penstock.feel.values.functions import Function, Parameter
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal import Date, DateTime, DaysTime, Time, YearsMonths

__all__ = ["Date", "DateTime", "DaysTime", "Function", "Parameter", "Range", "Time", "YearsMonths", "kind_of"]
