/* What heads, labels and captions mean, and the facts in them. */
#include <ctype.h>
#include <strings.h>

#include "paper/derive.h"
#include "paper/words.h"
#include "scenario/printed.h"

/* ---- formats ---- */

static const struct format {
	const char *name;
	double bytes;
} formats[] = {{"bf16", 2}, {"bfloat16", 2}, {"fp16", 2}, {"float16", 2}, {"f16", 2},
	{"half precision", 2}, {"fp8", 1}, {"int8", 1}, {"fp32", 4}, {"float32", 4}, {"f32", 4},
	{"int4", 0.5}, {"int2", 0.25}, {"q8_0", 1.0625}, {"q5_1", 0.75}, {"q5_0", 0.6875},
	{"q4_1", 0.625}, {"q4_0", 0.5625}};

static bool is_word_at(const char *text, const char *p, const char *word)
{
	const size_t n = (*p | 32) == (*word | 32) ? strlen(word) : 0;

	return n > 0 && strncasecmp(p, word, n) == 0 && !isalnum((unsigned char)p[n])
		&& (p == text || !isalnum((unsigned char)p[-1]));
}

/* The length of "3-bit", "8 bits"; 0: it isn't here. */
static size_t bits_length(const char *p, double *bits)
{
	char *end;

	if (!isdigit((unsigned char)*p))
		return 0;
	*bits = strtod(p, &end);
	end += *end == '-' || *end == ' ';
	if (strncasecmp(end, "bit", 3) != 0 || *bits > 64)
		return 0;
	end += end[3] == 's' ? 4 : 3;
	return isalnum((unsigned char)*end) ? 0 : (size_t)(end - p);
}

/* The length of "K8V4", keys and values in formats of their own. */
static size_t pair_length(const char *p, double *bits)
{
	int keys, values, n = 0;

	if (toupper((unsigned char)*p) != 'K'
		|| sscanf(p + 1, "%2d%*[vV]%2d%n", &keys, &values, &n) < 2
		|| isalnum((unsigned char)p[1 + n]))
		return 0;
	*bits = (keys + values) / 2.0;
	return (size_t)n + 1;
}

size_t al_paper_format_at(const char *text, const char *p, double *bytes)
{
	const bool is_inside = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '.');
	double bits = 0;
	size_t n = is_inside ? 0 : bits_length(p, &bits);

	n = n > 0 || is_inside ? n : pair_length(p, &bits);
	*bytes = bits / 8;
	for (size_t i = 0; n == 0 && i < sizeof(formats) / sizeof(*formats); i++)
		if (is_word_at(text, p, formats[i].name)) {
			n = strlen(formats[i].name);
			*bytes = formats[i].bytes;
		}
	return n;
}

/* ---- numbers ---- */

struct place {
	const char *text, *number, *end; /* behind its K or M */
	double value, round;
	bool has_suffix;
};

/* "262K", "65.5K" of a power of two, rounded or cut off: its K is 1,000 after all; 0: of none. */
static double power_of_two(double printed, size_t n_decimals)
{
	const double unit = 1000 * pow(10, -(double)n_decimals);
	const double power = exp2(floor(log2(1000 * printed + unit)));

	return printed > 1 && fabs(power - 1000 * printed) < unit ? power : 0;
}

/* The number at `p` with its K or M; false where it is a part of a word or has a unit. */
static bool read_number(const char *text, const char *p, struct place *out)
{
	double value;
	int digits;
	const size_t n = al_number_read(p, &value, &digits);
	const bool is_inside = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '.');

	*out = (struct place){text, p, p + n, value, value, false};
	const char suffix = *out->end;
	out->has_suffix = suffix && strchr("kKM", suffix) && !isalnum((unsigned char)out->end[1]);
	if (out->has_suffix) {
		const double power = suffix == 'M' ? 0 : power_of_two(out->value, (size_t)digits);
		out->value = power > 0 ? power : out->value * (suffix == 'M' ? 0x1p20 : 0x1p10);
		out->round *= suffix == 'M' ? 1e6 : 1e3;
		out->end++;
	}
	return !is_inside && (out->has_suffix || !isalpha((unsigned char)*out->end));
}

/* ---- meanings ---- */

/* "(12x)": what is left of it. */
static bool has_factor(const char *head)
{
	for (const char *p = head; *p; p++)
		if (isdigit((unsigned char)*p) && (p[1] == 'x' || strncmp(p + 1, "\u00d7", 2) == 0)
			&& !isalnum((unsigned char)p[2]))
			return true;
	return false;
}

/* Of the noun behind a context: "32K tokens". */
static size_t context_length(const char *p)
{
	static const char *const nouns[] = {" tokens", " context", " ctx"};

	for (size_t i = 0; i < sizeof(nouns) / sizeof(*nouns); i++)
		if (strncasecmp(p, nouns[i], strlen(nouns[i])) == 0)
			return strlen(nouns[i]);
	return 0;
}

/* "KV cache (KB/token)" is KVCACHEPERTOKEN, "KV fp16 @ 32K" is KV; else brackets hold a unit or a
 * remark. */
const char *al_paper_head_normal(struct al_arena *arena, const char *head)
{
	AL_TEXT(out);
	struct place at;

	for (const char *p = head; *p; p++) {
		const char *close = strchr("([", *p) ? strpbrk(p, ")]") : NULL;
		double bytes;
		const size_t n = al_paper_format_at(head, p, &bytes);
		if (n > 0)
			p += n - 1;
		else if (strncasecmp(p, " at ", 4) == 0 && isdigit((unsigned char)p[4]))
			p += 3;
		else if (isdigit((unsigned char)*p) && read_number(head, p, &at)
			&& (at.has_suffix || (at.number > head && at.number[-1] == '=')))
			p = at.end + context_length(at.end) - 1;
		else if (strncasecmp(p, "/tok", 4) == 0 || strncasecmp(p, "/ tok", 5) == 0) {
			al_text_add(&out, "PERTOKEN");
			p += 1 + (p[1] == ' ');
			p += strncasecmp(p, "token", 5) == 0 ? 4 : 2;
		} else if (close && !strstr(al_strndup(arena, p, (size_t)(close - p)), "tok"))
			p = close;
		else
			al_text_add_bytes(&out, p, 1);
	}
	static const char *const units[] = {"KIB", "KB", "BYTES", "B"};
	const char *normal = al_paper_normal(arena, out.data), *per = strstr(normal, "PERTOKEN");

	for (size_t i = 0; per && i < sizeof(units) / sizeof(*units); i++) {
		const size_t n = strlen(units[i]), left = (size_t)(per - normal);
		if (left >= n && memcmp(per - n, units[i], n) == 0)
			return al_format(arena, "%.*s%s", (int)(left - n), normal, per);
	}
	return normal;
}

bool al_paper_is_other(const struct al_paper_vocabulary *v, struct al_arena *arena,
	const char *head)
{
	const char *normal = al_paper_head_normal(arena, head);
	bool is_other = has_factor(head);

	for (size_t i = 0; i < v->n_others && !is_other; i++)
		is_other = strstr(normal, v->others[i]) != NULL;
	for (const char *p = head; *p && !is_other; p++)
		is_other = is_word_at(head, p, "vs"); /* "KV size" has none */
	return is_other;
}

const struct al_paper_heads *al_paper_meaning(const struct al_paper_vocabulary *v,
	struct al_arena *arena, const char *head)
{
	const char *normal = al_paper_head_normal(arena, head);
	const struct al_paper_heads *found = al_paper_heads_find(v->heads, v->n_heads, normal);

	/* "attn (Q:KV)" */
	const char *open = strchr(head, '(');
	const struct al_paper_heads *inner = al_paper_heads_find(v->heads, open ? v->n_heads : 0,
		al_paper_normal(arena, open ? open : ""));
	if (inner->meaning == AL_MEANS_SIZE && inner->size == AL_DIM_GROUP)
		return inner;
	/* "GQA ratio" is no ratio of two measurements */
	return !al_paper_is_other(v, arena, head)
			|| al_find_name(normal, found->names, found->n_names) >= 0
		? found
		: al_paper_heads_find(v->heads, 0, normal);
}

/* ---- facts of heads ---- */

/* Is one of the words next to the number, but for signs between them? */
static bool is_before(const struct place *at, const char *const *list, size_t n)
{
	const char *end = at->number;

	while (end > at->text && strchr(" =:~($", end[-1]))
		end--;
	for (size_t i = 0; i < n; i++) {
		const size_t m = strlen(list[i]);
		if ((size_t)(end - at->text) >= m && strncasecmp(end - m, list[i], m) == 0
			&& ((size_t)(end - at->text) == m
				|| !isalpha((unsigned char)end[-(int)m - 1])))
			return true;
	}
	return false;
}

static bool is_behind(const struct place *at, const char *const *list, size_t n)
{
	const char *p = at->end + strspn(at->end, " -~)$");

	for (size_t i = 0; i < n; i++)
		if (strncasecmp(p, list[i], strlen(list[i])) == 0)
			return true;
	return false;
}

#define IS(where, at, ...) \
	is_##where(at, (const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void set(double *fact, double value, bool *has_several)
{
	*has_several |= *fact > 0 && *fact != value;
	*fact = value;
}

static void read_count(const struct place *at, bool is_caption, struct al_paper_facts *out)
{
	const bool is_batch = IS(before, at, "batch", "batch size", "batch size of", "batch of",
				      "bs")
		|| IS(behind, at, "sequences", "requests", "users");
	const bool is_tokens = IS(behind, at, "token", "context", "ctx", "sequence length")
		|| IS(before, at, "context", "context of", "context length", "context length of",
			"length", "length of", "seq", "seqlen", "seq_len", "len", "tokens", "ctx")
		|| (!is_caption && at->number > at->text && at->number[-1] == '='
			&& IS(before, at, "k"))
		|| (at->has_suffix
			&& (!is_caption || out->tokens > 0 || IS(before, at, "at", "@", "of")));

	if (is_batch)
		set(&out->batch, at->value, &out->has_several_batches);
	else if (is_tokens) {
		set(&out->tokens, at->value, &out->has_several_tokens);
		out->round_tokens = at->round;
	}
}

static size_t read_format(const char *text, const char *p, struct al_paper_facts *out)
{
	double bytes;
	const size_t n = al_paper_format_at(text, p, &bytes);

	if (n > 0)
		set(&out->bytes, bytes, &out->has_several_formats);
	return n;
}

static void read_unit(const char *text, const char *p, struct al_paper_facts *out)
{
	static const char *const units[] = {"GiB", "GB", "MiB", "MB", "KiB", "KB", "TiB", "TB",
		"bytes"};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (is_word_at(text, p, units[i]) && strncmp(p, units[i], strlen(units[i])) == 0)
			out->unit = strcmp(units[i], "KB") == 0 ? "kB" : units[i];
}

void al_paper_read_facts(const char *text, bool is_caption, struct al_paper_facts *out)
{
	struct place at;

	*out = (struct al_paper_facts){0};
	for (const char *p = text; *p;) {
		const size_t n_format = read_format(text, p, out);
		if (n_format > 0) {
			p += n_format;
			continue;
		}
		read_unit(text, p, out);
		out->is_shared |= is_word_at(text, p, "GPUs") || is_word_at(text, p, "per GPU")
			|| is_word_at(text, p, "per device") || is_word_at(text, p, "devices");
		at.end = p + 1;
		if (isdigit((unsigned char)*p) && read_number(text, p, &at))
			read_count(&at, is_caption, out);
		p = at.end;
	}
}

double al_paper_tokens(const char *text, double *round)
{
	const char *p = text + strcspn(text, "0123456789");
	struct place at;

	if (!*p || !read_number(text, p, &at) || strpbrk(at.end, "0123456789")
		|| at.value != floor(at.value) || at.value < 1)
		return 0;
	*round = at.round;
	return IS(behind, &at, "token", "context", "ctx", "(") || !at.end[strspn(at.end, " -~$)")]
		? at.value
		: 0;
}

double al_paper_format_bytes(const char *text)
{
	struct al_paper_facts facts;

	al_paper_read_facts(text, true, &facts);
	return facts.has_several_formats ? 0 : facts.bytes;
}
