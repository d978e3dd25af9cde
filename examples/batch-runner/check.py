# A job of the example: writes a report.
import pathlib

report = pathlib.Path("report/summary.txt")
report.parent.mkdir()
report.write_text("All is well.\n")
print("wrote", report)
