# compare.awk EXPECTED FOUND: eigenvalues and losses of `attnledger pca -f csv` within 1e-6 of those of
# heads.py, of which every one must be there.
BEGIN { FS = "," }
NR == FNR { split($0, word, " "); expected[word[1] " " word[2] " " word[3] " " word[4]] = word[5]; next }
/^# / { what = $0 == "# loss" ? "loss" : "value"; next }
$1 == "module" || !NF { if ($3 == "kept") what = "loss"; else if (NF) what = "value"; next }
{
	key = what " " $1 " " $2 " " $3
	if (!(key in expected))
		next
	difference = $4 - expected[key]
	if (difference > 1e-6 || difference < -1e-6) {
		print key ": found " $4 ", expected " expected[key]
		bad = 1
	}
	delete expected[key]
}
END {
	for (key in expected) {
		print key ": not found"
		bad = 1
	}
	exit bad
}
