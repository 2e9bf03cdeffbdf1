"""The tables and figures of the papers that jetpy implements, measured again.

Each experiment computes the quantities of one table or figure. The numbers of the papers are in
`numbers/`, a file for each paper. A CSV file shows them next to jetpy's results.
"""
