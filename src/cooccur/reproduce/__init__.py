"""The paper's tables and figures again, theirs beside ours.

plan      what is run: targets, columns (datasets), rows (models and their sizes), units in their order
work      one unit: sizes chosen on validation records, then one fold of one model on one dataset
store     finished units, one file each, and the locks that keep two processes apart
collect   finished units -> the figures of a table, with the significance tests
render    the figures as Markdown, LaTeX and JSON
movies    figure 3's vectors, map and score
figures   what is drawn
report    from a target to its files
paper     what the paper printed
"""
