/* What may have happened to a number that doesn't follow. */
#include "paper/derive.h"
#include "scenario/printed.h"
#include "scenario/scenario.h"

/* Is the printed number the right one times this, within the rounding of both? */
static bool is_times(const struct al_paper_suspect *s, double factor)
{
	return al_paper_rounds_to(s->right * factor, s->value, s->half * (1 + factor));
}

static const char *number_of(struct al_arena *arena, const char *printed)
{
	const char *begin = printed + strcspn(printed, "0123456789");

	return al_strndup(arena, begin, strspn(begin, "0123456789.,"));
}

const char *al_paper_instead(struct al_arena *arena, const char *printed, double right, int digits)
{
	const size_t before = strcspn(printed, "0123456789");
	const char *number = number_of(arena, printed);
	const char *text = al_format(arena, "%.*f", al_most(digits, 0), right);

	if (strchr(number, ','))
		text = al_exact_grouped(arena, text);
	return al_format(arena, "%.*s%s%s", (int)before, printed, text,
		printed + before + strlen(number));
}

const char *al_paper_expected(struct al_arena *arena, double right, int digits)
{
	const bool is_whole = right < 0x1p53 && right == rint(right);

	return al_format(arena, "%.*f", is_whole ? 0 : digits + 1, right);
}

/* 10^9 and 2^30 alike; 1: no such unit. */
static double binary_factor(const char *unit)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"};
	const int found = unit ? al_find_name(unit, units, 8) : -1;

	return found < 0 ? 1 : pow(1.024, found % 4 + 1);
}

static struct al_paper_cause find_unit(struct al_arena *arena, const struct al_paper_suspect *s)
{
	const double factor = binary_factor(s->unit);
	const bool is_binary = s->unit && strchr(s->unit, 'i');
	const char *other = !s->unit ? ""
		: is_binary	     ? al_format(arena, "%cB", s->unit[0] == 'K' ? 'k' : s->unit[0])
			    : al_format(arena, "%ciB", s->unit[0] == 'k' ? 'K' : s->unit[0]);

	const double meant = s->right * (is_binary ? factor : 1 / factor);

	if (factor == 1 || !al_paper_rounds_to(meant, s->value, s->half))
		return (struct al_paper_cause){0};
	return (struct al_paper_cause){"unit",
		al_format(arena, "holds if %s means %s", s->unit, other), !s->is_unit_known};
}

static bool is_cut_off(const struct al_paper_suspect *s)
{
	const double unit = 2 * s->half;

	return s->right > s->value && s->right < s->value + unit * (1 - 1e-9);
}

static struct al_paper_cause find_heads(struct al_arena *arena, const struct al_paper_suspect *s)
{
	const double *sizes = s->subject->sizes;
	const double heads = sizes[AL_DIM_HEADS], kv = sizes[AL_DIM_KV_HEADS],
		     layers = sizes[AL_DIM_LAYERS];

	if (kv > 0 && heads > kv && is_times(s, heads / kv))
		return (struct al_paper_cause){"heads",
			al_format(arena,
				"as if each of %.0f query heads had keys and values of its own, "
				"instead of %.0f",
				heads, kv),
			false};
	if (layers > 1 && is_times(s, 1 / layers))
		return (struct al_paper_cause){"layers",
			al_format(arena, "as if only one of %.0f layers were counted", layers),
			false};
	return (struct al_paper_cause){0};
}

static const struct factor {
	const char *name, *text;
	double factor;
	bool is_of_cache, is_of_bytes;
} factors[] = {
	{"half", "half: as if values were not counted, or a number took one byte for two", 0.5,
		true, true},
	{"twice",
		"twice: as if keys and values were counted twice, or a number took four bytes for "
		"two",
		2, true, true},
	{"half", "half: as if a number took one byte for two", 0.5, false, true},
	{"twice", "twice: as if a number took four bytes for two", 2, false, true},
	{"half", "half", 0.5, false, false},
	{"twice", "twice", 2, false, false},
	{"thousand", "a thousandth: another unit?", 1e-3, false, false},
	{"thousand", "a thousand times as much: another unit?", 1e3, false, false},
	{"point", "a tenth: the decimal point moved?", 0.1, false, false},
	{"point", "ten times as much: the decimal point moved?", 10, false, false},
};

static struct al_paper_cause find_factor(const struct al_paper_suspect *s)
{
	for (size_t i = 0; i < sizeof(factors) / sizeof(*factors); i++) {
		const struct factor *f = &factors[i];
		if ((!f->is_of_cache || s->is_of_cache) && (!f->is_of_bytes || s->is_bytes)
			&& is_times(s, f->factor))
			return (struct al_paper_cause){f->name, f->text, false};
	}
	return (struct al_paper_cause){0};
}

static size_t count_digits(const char *number)
{
	size_t n = 0;

	for (const char *p = number + strspn(number, "0."); *p; p++)
		n += al_is_digit(*p);
	return n;
}

/* Of two digits each other number is one digit away. */
static struct al_paper_cause find_slip(struct al_arena *arena, const struct al_paper_suspect *s)
{
	const bool may_be_rounded = s->is_of_model && fabs(s->value / s->right - 1) < 0.1;
	const size_t least = may_be_rounded ? 4 : 3;
	const char *instead = al_paper_instead(arena, s->printed, s->right, s->digits);
	const char *number = number_of(arena, s->printed);

	if (count_digits(number) < least || !al_paper_is_slip(number, number_of(arena, instead)))
		return (struct al_paper_cause){0};
	return (struct al_paper_cause){"digit", al_format(arena, "a slip for %s", instead), false};
}

struct al_paper_cause al_paper_find_cause(struct al_arena *arena, const struct al_paper_suspect *s)
{
	struct al_paper_cause cause = find_unit(arena, s);

	if (!cause.name && is_cut_off(s))
		cause = (struct al_paper_cause){"truncation", "cut off, not rounded", true};
	if (!cause.name && s->is_of_cache && s->subject)
		cause = find_heads(arena, s);
	if (!cause.name)
		cause = find_factor(s);
	if (!cause.name)
		cause = find_slip(arena, s);
	return cause;
}

void al_paper_add_wrong(struct al_paper_findings *out, struct al_lint_counts *counts,
	const struct al_paper_suspect *s, const struct al_paper_finding *found)
{
	const struct al_paper_cause cause = al_paper_find_cause(out->arena, s);
	const bool has_cause = cause.name && !cause.is_note && s->right > 0;
	struct al_paper_finding wrong = *found;

	wrong.printed = s->printed;
	wrong.verdict = al_verdict_names[AL_INCONSISTENT];
	wrong.instead = al_paper_instead(out->arena, s->printed, s->right, s->digits);
	wrong.cause = has_cause ? cause.name : found->cause;
	wrong.note = has_cause ? al_format(out->arena, "erratum? %s", cause.text)
			       : al_format(out->arena, "erratum? %swrite %s",
				       found->note ? found->note : "", wrong.instead);
	al_paper_findings_add(out, wrong);
	counts->verdicts[AL_INCONSISTENT]++;
	counts->numbers++;
}

void al_paper_add_holding(struct al_paper_findings *out, struct al_lint_counts *counts,
	struct al_word *said, double right, enum al_verdict verdict)
{
	said->is_judged = true;
	al_paper_findings_add(out,
		(struct al_paper_finding){.line = said->line,
			.printed = al_strdup(out->arena, said->text),
			.expected = al_paper_expected(out->arena, right, said->digits),
			.verdict = al_verdict_names[verdict]});
	counts->verdicts[verdict]++;
	counts->numbers++;
}

bool al_paper_is_digit_slip(struct al_arena *arena, const struct al_paper_suspect *suspect)
{
	const struct al_paper_cause cause = al_paper_find_cause(arena, suspect);

	return cause.name && strcmp(cause.name, "digit") == 0
		&& (suspect->digits == 0
			|| fabs(suspect->value - suspect->right) > 3 * suspect->half);
}
