"""One market through three doors: Grandhi and Yadagiri's view (2026), and the quantities kept apart.

quantity    what each number is: names, definitions, which door has which
record      the paper's eight fields, as CSV and Parquet
statistics  the paper's measures
convert     from what collectors saw to the paper's records and to our own
store       one campaign's files
tables      tables I to V
figures     figures 2 to 6
campaign    the file that says what is played
play        plays it, each campaign with fresh processes
content     what the summary says
summary     tables/, figures/ and summary.md
page        summary.html
clock_page  how well an exchange's clock is known, for files and for people
polling     the age of events that are asked for, and what it must be
"""
