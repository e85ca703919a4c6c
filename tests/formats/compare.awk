# Tables of an audit as CSV: that of heads, the expected one and the found one, then two of another
# kind. The first `n_keys` columns name a row. Without `epsilon` all cells are the same, but for the
# last digits of a sum in double. With it a measure may be off by so much of it (of a number below 1:
# by so much), a count of components by 2, and heads that are equally good may be grouped otherwise;
# where a head's rank is another one, since what is left of it is within its format's roundoff, its
# subspace has another width, and angles to it aren't compared.
function is_rank(column) { return column ~ /_rank$/ && column !~ /_(stable|effective)_rank$/ }
function key(   i, joined) {
	for (i = 1; i <= n_keys; i++)
		joined = joined " " $i
	return joined
}
function off(a, b) { return a > b ? a - b : b - a }
function size(a) { return a > 1 ? a : a < -1 ? -a : 1 }
function agree(a, b, column) {
	if (a == b || column == "rank_tolerance")
		return 1
	if (a !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/ || b !~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/)
		return epsilon > 0 && column == "groups"
	if (epsilon > 0 && a !~ /[.e]/ && b !~ /[.e]/)
		return off(a, b) <= 2
	return off(a, b) <= (epsilon > 0 ? epsilon : 1e-6) * size(a)
}
FNR == 1 {
	n_files++
	n_columns = split($0, head, ",")
	next
}
n_files <= 2 {
	for (i = 1; i <= n_columns; i++)
		if (n_files == 1)
			heads[$1, $3, i] = $i
		else if (is_rank(head[i]) && heads[$1, $3, i] != $i)
			is_cut[$1, $3] = 1
	next
}
n_files == 3 {
	expected[key()] = $0
	n_expected++
	next
}
{
	n_found++
	if (!(key() in expected)) {
		print what ": unexpected row" key()
		bad = 1
		next
	}
	split(expected[key()], cell, ",")
	compares_angles = !(head[2] == "head_a" && (($1, $2) in is_cut || ($3, $4) in is_cut))
	for (i = n_keys + 1; i <= n_columns; i++)
		if ((compares_angles || head[i] !~ /_(kernel|angle_min|angle_max)$/) && !agree(cell[i], $i, head[i])) {
			print what ":" key() ": " head[i] " is " $i ", expected " cell[i]
			bad = 1
		}
}
END {
	if (n_expected != n_found) {
		print what ": " n_found + 0 " rows, expected " n_expected + 0
		bad = 1
	}
	exit bad
}
