"""Reports: what a function became, line by line, as one HTML file.

observing    a call is made, with copies of what it is given
gather       graphs, steps, times and reasons of it, as plain data (`model`)
page, trace  the data as a page, and as a trace for Perfetto
"""
