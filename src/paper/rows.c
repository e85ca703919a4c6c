/* A table's rows: the model, context and format of each, and its cells. */
#include "paper/sheet.h"

#include "scenario/printed.h"

/* What a row states. */
struct row {
	const struct al_paper_row *row;
	const struct al_paper_subject *subject;
	double tokens, round_tokens, batch, bytes;
	bool is_quantized; /* by its label: sizes alone are the model's */
	bool is_method; /* another method is applied to the model */
	bool is_other; /* that, or of what has no known name */
};

/* The model with as many key heads as the attention has: "MHA", "MQA"; NULL: another mechanism. */
static const struct al_paper_subject *with_attention(const struct al_paper_sheet *s,
	const struct al_paper_subject *subject, const char *attention)
{
	const char *normal = al_paper_normal(s->arena, attention);
	const double heads = subject->sizes[AL_DIM_HEADS], kv = subject->sizes[AL_DIM_KV_HEADS];
	const bool is_mha = strcmp(normal, "MHA") == 0, is_mqa = strcmp(normal, "MQA") == 0;
	const bool is_own = strcmp(normal, "OWN") == 0 || strcmp(normal, "OWNATTENTION") == 0;
	const bool is_gqa = strcmp(normal, "GQA") == 0, is_mla = strcmp(normal, "MLA") == 0;

	if (!*normal || is_own || (is_gqa && kv > 1 && kv < heads)
		|| (is_mla && !subject->has_plain_cache && kv > 0))
		return subject;
	if ((!is_mha && !is_mqa) || !subject->has_plain_cache)
		return NULL;
	struct al_paper_subject *out = al_new(s->arena, struct al_paper_subject);
	*out = *subject;
	out->cached = al_new(s->arena, struct al_paper_cached);
	*out->cached = *subject->cached;
	out->sizes[AL_DIM_KV_HEADS] = is_mha ? heads : 1;
	out->cached->elements *= out->sizes[AL_DIM_KV_HEADS] / kv;
	memset(out->totals, 0, sizeof(out->totals));
	return out;
}

static void read_fact(const struct al_paper_sheet *s, const struct al_paper_head *head,
	const char *text, struct row *out)
{
	struct al_paper_cell number;

	if (head->meaning == AL_MEANS_CONTEXT) {
		const bool is_k = head->unit && strcmp(head->unit, "k") == 0;
		out->tokens = al_paper_tokens(text, &out->round_tokens);
		if (is_k && out->tokens > 0 && out->tokens < 1024) {
			out->round_tokens = 1000 * out->tokens;
			out->tokens *= 1024;
		}
	} else if (head->meaning == AL_MEANS_BATCH && al_paper_cell_number(s->arena, text, &number))
		out->batch = number.value;
	else if (head->meaning == AL_MEANS_FORMAT) {
		const bool is_bits = al_paper_cell_number(s->arena, text, &number);
		out->bytes = is_bits ? number.value / 8 : al_paper_format_bytes(text);
		out->is_method |= *text && out->bytes == 0;
	} else if (head->meaning == AL_MEANS_METHOD)
		out->is_method |= !al_paper_is_baseline(text) && strcmp(text, "1") != 0;
}

/* What is neither a model nor a context with its K nor a number format in the first column is of
 * something else. */
static void read_label(const struct al_paper_sheet *s, const char *text, struct row *out)
{
	const double tokens = al_paper_tokens(text, &out->round_tokens);
	const double bytes = *al_paper_head_normal(s->arena, text) ? 0
								   : al_paper_format_bytes(text);

	if (tokens > 0 && text[strcspn(text, "kKMt")])
		out->tokens = tokens;
	else if (bytes > 0)
		out->bytes = bytes;
	else if (!al_paper_is_baseline(text))
		out->is_other = true;
}

/* "MHA 4:1", "32/8" and "(32,8)" are ratios of heads, 8 may be one or a number of them. */
static bool read_ratio(const char *text, struct al_paper_cell *out)
{
	double heads = 0, kv_heads = 0;

	out->printed = text + strcspn(text, "0123456789");
	sscanf(out->printed, "%lf %*1[:/,] %lf", &heads, &kv_heads);
	out->printed -= out->printed > text && out->printed[-1] == '(';
	out->value = kv_heads > 0 ? heads / kv_heads : heads;
	out->half = 0.5;
	out->is_guess = kv_heads == 0 || strpbrk(text, "/,") != NULL;
	return out->value > 0;
}

/* "40 (10 with attention)" is 40. */
static bool read_size(const struct al_paper_sheet *s, const struct al_paper_head *head,
	const char *text, struct al_paper_cell *out)
{
	const bool is_size = head->meaning == AL_MEANS_SIZE;
	const size_t n = strcspn(text, "(");

	if (is_size && head->size == AL_DIM_GROUP)
		return read_ratio(text, out);
	out->is_guess = is_size && head->size == AL_DIM_SOME;
	if (al_paper_cell_number(s->arena, text, out))
		return true;
	out->is_guess = true;
	return is_size && n > 1 && text[n] && text[n - 1] == ' '
		&& al_paper_cell_number(s->arena, al_strndup(s->arena, text, n - 1), out);
}

/* A size that may be another one counts where it holds. */
static bool is_size(struct al_paper_cell *cell, double value)
{
	const double *sizes = cell->subject->sizes;

	if (cell->size == AL_DIM_SOME)
		cell->size = sizes[AL_DIM_WIDTH] == value ? AL_DIM_WIDTH : AL_DIM_HEAD_DIM;
	return sizes[cell->size] == value;
}

/* Matrices alone; without a width of the feed-forward layers 4 of the model's, and two matrices. */
static void count_parameters(struct al_paper_subject *s)
{
	const double *sizes = s->sizes, width = sizes[AL_DIM_WIDTH];
	const double inner = sizes[AL_DIM_FFN] > 0 ? sizes[AL_DIM_FFN] : 4 * width;
	const double heads = sizes[AL_DIM_HEADS] + sizes[AL_DIM_KV_HEADS];
	const double embedding = sizes[AL_DIM_VOCAB] * width;

	if (width == 0 || sizes[AL_DIM_HEADS] == 0 || sizes[AL_DIM_EXPERTS] > 0)
		return;
	s->gates = sizes[AL_DIM_FFN] > 0 ? sizes[AL_DIM_LAYERS] * width * inner : 0;
	s->totals[AL_TOTAL_NON_EMBEDDING] = 2 * sizes[AL_DIM_LAYERS] * width
		* (heads * sizes[AL_DIM_HEAD_DIM] + inner);
	if (embedding == 0)
		return;
	s->totals[AL_TOTAL_WITHOUT_EMBEDDING] = s->totals[AL_TOTAL_NON_EMBEDDING] + embedding;
	s->totals[AL_TOTAL_PARAMETERS] = s->totals[AL_TOTAL_NON_EMBEDDING] + 2 * embedding;
}

/* The sizes that the row itself has, as a model of keys and values in every layer; NULL: not
 * all. */
static const struct al_paper_subject *own_subject(const struct al_paper_sheet *s,
	const struct row *row, const struct al_paper_subject *named, size_t *n_other,
	size_t *n_same)
{
	struct al_paper_subject *out = al_new(s->arena, struct al_paper_subject);
	struct al_paper_cell cell;
	double *sizes = out->sizes;

	for (size_t i = 0; i < s->table->n_columns; i++) {
		const struct al_paper_head *head = &s->heads[i];
		if (head->meaning != AL_MEANS_SIZE || head->size == AL_DIM_SOME
			|| !read_size(s, head, al_paper_row_text(row->row, i), &cell)
			|| (head->size == AL_DIM_GROUP && cell.is_guess
				&& !strpbrk(cell.printed, "/,")))
			continue;
		sizes[head->size] = cell.value;
		if (head->size > AL_DIM_SOME)
			continue;
		*n_other += named && named->sizes[head->size] > 0
			&& named->sizes[head->size] != cell.value;
		*n_same += named && named->sizes[head->size] == cell.value;
	}
	if (sizes[AL_DIM_KV_HEADS] == 0)
		sizes[AL_DIM_KV_HEADS] = sizes[AL_DIM_HEADS];
	if (sizes[AL_DIM_HEAD_DIM] == 0 && sizes[AL_DIM_HEADS] > 0)
		sizes[AL_DIM_HEAD_DIM] = sizes[AL_DIM_WIDTH] / sizes[AL_DIM_HEADS];
	const double elements = 2 * sizes[AL_DIM_LAYERS] * sizes[AL_DIM_KV_HEADS]
		* sizes[AL_DIM_HEAD_DIM];
	if (elements == 0)
		return NULL;
	out->title = al_paper_row_text(row->row, 0);
	if (al_paper_is_number(s->arena, out->title))
		out->title = "each row";
	out->from = "sizes of the row";
	out->cached = al_new(s->arena, struct al_paper_cached);
	*out->cached = (struct al_paper_cached){.elements = elements};
	out->n_cached = 1;
	out->has_plain_cache = out->is_of_row = true;
	count_parameters(out);
	return out;
}

/* A row whose sizes are another model's is not of the one that it names. */
static void check_sizes(const struct al_paper_sheet *s, struct row *row)
{
	size_t n_other = 0, n_same = 0;
	const struct al_paper_subject *own = own_subject(s, row, row->subject, &n_other, &n_same);

	if (row->subject && (n_other == 0 || (n_other == 1 && n_same >= 2)))
		return;
	if (!row->subject && !own)
		return;
	row->subject = own;
	row->is_other = !own;
}

/* "Qwen2.5-7B Q4_K_M", "Llama-3-8B (AWQ)": the model whose weights are in another format. */
static const struct al_paper_subject *find_quantized(const struct al_paper_sheet *s,
	const char *text)
{
	const struct al_paper_list *known = &s->subjects->vocabulary.words[AL_WORDS_QUANTIZED];
	size_t n = strlen(text);

	while (n > 0 && !strchr(" -(", text[n - 1]))
		n--;
	const char *ending = al_paper_normal(s->arena, text + n);
	while (n > 0 && strchr(" -(", text[n - 1]))
		n--;
	return n > 0 && al_find_name(ending, (const char *const *)known->items, known->n) >= 0
		? al_paper_subject_find(s->subjects, al_strndup(s->arena, text, n))
		: NULL;
}

static void read_row(const struct al_paper_sheet *s, const struct al_paper_subject *section,
	struct row *out)
{
	const char *attention = NULL;
	bool has_label = false;

	for (size_t i = 0; i < s->table->n_columns; i++) {
		const char *text = al_paper_row_text(out->row, i);
		const struct al_paper_head *head = &s->heads[i];
		const struct al_paper_subject *named = al_paper_is_number(s->arena, text)
			? NULL
			: al_paper_subject_find(s->subjects, text);
		const struct al_paper_subject *quantized = named ? NULL : find_quantized(s, text);
		named = named ? named : quantized;
		out->is_quantized |= quantized != NULL;
		if (named && out->subject && named != out->subject)
			out->is_other = true;
		out->subject = named ? named : out->subject;
		if (head->meaning == AL_MEANS_ATTENTION)
			attention = text;
		else if (head->meaning != AL_MEANS_NOTHING && head->meaning != AL_MEANS_MODEL)
			read_fact(s, head, text, out);
		else if (!named && (i == 0 || head->meaning == AL_MEANS_MODEL))
			read_label(s, text, out);
		has_label |= named != NULL;
	}
	if (!has_label)
		out->subject = section ? section : s->subject;
	if (attention && out->subject)
		out->subject = with_attention(s, out->subject, attention);
	check_sizes(s, out);
}

/* ---- cells ---- */

static const char *unit_of(const struct al_paper_sheet *s, const struct al_paper_head *head,
	const char *own)
{
	const char *unit = own ? own : head->unit;
	const bool takes_bytes = head->meaning == AL_MEANS_CACHE
		|| head->meaning == AL_MEANS_WEIGHTS;

	return unit || !takes_bytes ? unit : s->facts.unit;
}

static double first_of(double a, double b, double c)
{
	return a > 0 ? a : b > 0 ? b : c;
}

/* "7B" next to "Qwen2.5-7B" is its name. */
static bool is_name(const struct row *row, size_t column, const char *text)
{
	for (size_t k = 0; k < row->row->n_cells; k++)
		if (k != column && strlen(text) > 1 && strstr(row->row->cells[k], text))
			return true;
	return false;
}

static void add_cell(struct al_paper_sheet *s, const struct row *row, size_t index, size_t column)
{
	enum { MOST_CELLS = 4000 };
	const struct al_paper_head *head = &s->heads[column];
	const char *text = al_paper_row_text(row->row, column);
	struct al_paper_cell cell = {.scale = 1};
	const bool is_mixed = head->facts.has_several_tokens || head->facts.has_several_formats
		|| head->facts.has_several_batches || head->facts.is_shared || s->facts.is_shared;

	if (head->meaning < AL_MEANS_SIZE || is_mixed
		|| (row->is_quantized && head->meaning >= AL_MEANS_WEIGHTS) || s->n >= MOST_CELLS
		|| !read_size(s, head, text, &cell) || al_ends_with(text, "%"))
		return;
	if (head->meaning == AL_MEANS_TOTAL && is_name(row, column, text))
		return;
	cell.subject = head->subject ? head->subject : row->subject;
	const bool is_of_sizes = cell.subject && cell.subject->is_of_row
		&& head->meaning == AL_MEANS_TOTAL && head->size != AL_TOTAL_ACTIVE;
	if (!cell.subject
		|| (cell.subject->is_of_row && head->meaning <= AL_MEANS_WEIGHTS && !is_of_sizes))
		return;
	cell.line = s->table->turned ? s->table->turned->rows[column].line : row->row->line;
	cell.row = index;
	cell.column = column;
	cell.meaning = head->meaning;
	cell.is_guess |= head->is_guess || is_of_sizes;
	cell.size = is_of_sizes ? AL_TOTAL_OF_ROW : head->size;
	if (cell.meaning == AL_MEANS_SIZE && cell.is_guess && !is_size(&cell, cell.value))
		return;
	cell.unit = unit_of(s, head, cell.unit);
	const struct al_paper_facts *facts = &s->facts;
	const double of_caption = facts->has_several_tokens ? 0 : facts->tokens;
	cell.tokens = first_of(head->facts.tokens, row->tokens, of_caption);
	cell.round_tokens = head->facts.tokens > 0 ? head->facts.round_tokens
		: row->tokens > 0		   ? row->round_tokens
						   : facts->round_tokens;
	cell.batch = first_of(head->facts.batch, row->batch,
		facts->has_several_batches ? 0 : facts->batch);
	cell.bytes = first_of(head->facts.bytes, row->bytes,
		facts->has_several_formats ? 0 : facts->bytes);
	cell.tokens_from = head->facts.tokens > 0 ? "head" : row->tokens > 0 ? "row" : "caption";
	cell.bytes_from = head->facts.bytes > 0 ? "head" : row->bytes > 0 ? "row" : "caption";
	*AL_APPEND(s->arena, s->cells, s->n, s->room) = cell;
}

void al_paper_sheet_add_row(struct al_paper_sheet *s, size_t index,
	const struct al_paper_subject *section)
{
	struct row row = {.row = &s->table->rows[index]};

	read_row(s, section, &row);
	for (size_t k = 0; !row.is_other && !row.is_method && k < s->table->n_columns; k++)
		add_cell(s, &row, index, k);
}
