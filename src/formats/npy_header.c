/* The header of numpy's .npy files (numpy.lib.format):
 *
 *     "\x93NUMPY"  major minor     version 1.0, 2.0 or 3.0
 *     length       of the header: 2 bytes in version 1, else 4, little-endian
 *     header       {'descr': '<f4', 'fortran_order': False, 'shape': (64, 64), } and spaces, "\n"
 *
 * It is a Python literal of those three keys, each once, in any order; here it is read as JSON. */
#include "formats/npy_header.h"

#include "base/record.h"

enum { LONGEST_HEADER = 1 << 16 };

const char al_npy_magic[AL_NPY_MAGIC + 1] = "\x93NUMPY";

/* The code in a 'descr' behind the order of bytes, and how we call it. */
static const struct {
	const char *code, *stored;
} numbers[] = {
	{"f4", "F32"},
	{"f8", "F64"},
	{"f2", "F16"},
	{"i1", "I8"},
	{"i2", "I16"},
	{"i4", "I32"},
	{"i8", "I64"},
	{"u1", "U8"},
	{"u2", "U16"},
	{"u4", "U32"},
	{"u8", "U64"},
	{"b1", "BOOL"},
	{"c8", "C64"},
};
enum { N_NUMBERS = sizeof(numbers) / sizeof(*numbers) };

/* Kinds of arrays that hold no numbers, by how their 'descr' begins. */
static const struct {
	const char *begins, *what;
} refused[] = {
	{"|O", "Python objects, which are never read"},
	{"<U", "texts"},
	{">U", "texts"},
	{"|S", "texts"},
	{"|V", "raw bytes: numpy forgets what they are (bfloat16?); store them as float32"},
	{"<V", "raw bytes: numpy forgets what they are (bfloat16?); store them as float32"},
};
enum { N_REFUSED = sizeof(refused) / sizeof(*refused) };

/* ---- the literal ---- */

/* The same bytes long: other quotes, brackets of lists for those of tuples, small letters for True
 * and False, no comma behind a last item. */
static void add_as_json(struct al_text *out, const char *text, size_t n)
{
	static const char python[] = "()TF", json[] = "[]tf";
	size_t comma = SIZE_MAX; /* where one is, and nothing behind it */
	char quote = '\0';

	for (size_t i = 0; i < n; i++) {
		const char *found = text[i] && !quote ? strchr(python, text[i]) : NULL;
		char c = found ? json[found - python] : text[i];
		if (quote ? c == quote : c == '\'' || c == '"') {
			quote = quote ? '\0' : c;
			c = '"';
		}
		if (!quote && (c == ']' || c == '}') && comma != SIZE_MAX)
			out->data[comma] = ' ';
		if (c != ' ')
			comma = !quote && c == ',' ? i : SIZE_MAX;
		al_text_add_bytes(out, &c, 1);
	}
}

struct literal {
	const struct al_item *descr;
	bool is_fortran;
	int64_t *shape;
	size_t n_dims;
};

static bool read_size(void *context, const struct al_item *node, void *out, struct al_error *err)
{
	return al_json_whole_from(context, node, 0, out, err);
}

static const struct al_field fields[] = {
	{AL_KEY("descr", NODE, offsetof(struct literal, descr)), .is_required = true},
	{AL_KEY("fortran_order", BOOLEAN, offsetof(struct literal, is_fortran)),
		.is_required = true},
	{AL_KEY("shape", LIST, offsetof(struct literal, shape)),
		.n_offset = offsetof(struct literal, n_dims), .read = read_size,
		.item_size = sizeof(int64_t), .most = AL_NPY_MOST_DIMS, .noun = "dimensions",
		.is_required = true},
};
static const struct al_record record = {.fields = AL_FIELDS(fields)};

static bool fail_kind(const char *path, const char *what, struct al_error *err)
{
	return al_fail(err, AL_EINPUT, "%s: an array of %s; expected an array of numbers", path,
		what);
}

static bool read_descr(const struct al_json *doc, const struct al_item *node, const char *path,
	struct al_npy_header *h, struct al_error *err)
{
	const char *descr;

	if (al_json_kind(node) == AL_JSON_ARRAY)
		return fail_kind(path, "records; store each field as its own array", err);
	if (!al_json_text(doc, node, &descr, err))
		return false;
	h->is_swapped = *descr == '>';
	for (size_t i = 0; i < N_NUMBERS && *descr && strchr("<>=|", *descr); i++)
		if (strcmp(descr + 1, numbers[i].code) == 0)
			return h->dtype = al_dtype_stored(numbers[i].stored), true;
	for (size_t i = 0; i < N_REFUSED; i++)
		if (strncmp(descr, refused[i].begins, strlen(refused[i].begins)) == 0)
			return fail_kind(path, refused[i].what, err);
	return al_json_fail(doc, node, err,
		"found \"%.20s\", expected \"<f4\" or another number type", descr);
}

static bool read_literal(struct al_json *doc, const char *path, struct al_arena *scratch,
	struct al_npy_header *h, struct al_error *err)
{
	const struct al_record_source source = {scratch, doc, doc};
	struct literal literal = {0};

	if (!al_json_expect(doc, doc->root, AL_JSON_OBJECT, err)
		|| !al_record_read(&source, &record, doc->root, &literal, err)
		|| !read_descr(doc, literal.descr, path, h, err))
		return false;
	h->is_fortran = literal.is_fortran;
	h->n_dims = literal.n_dims;
	for (size_t i = 0; i < h->n_dims; i++)
		h->shape[i] = literal.shape[i];
	return true;
}

/* ---- the header ---- */

/* Where the header begins and ends. */
static bool find_header(struct al_npy_header *out, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	if (n < AL_NPY_MAGIC + 4 || memcmp(bytes, al_npy_magic, AL_NPY_MAGIC) != 0)
		return al_fail(err, AL_EINPUT, "%s: not an .npy file", path);
	int major = bytes[AL_NPY_MAGIC], minor = bytes[AL_NPY_MAGIC + 1];
	if (major < 1 || major > 3 || minor != 0)
		return al_fail(err, AL_EINPUT, "%s: .npy version %d.%d, expected 1.0, 2.0 or 3.0",
			path, major, minor);
	size_t digits = major == 1 ? 2 : 4, begin = AL_NPY_MAGIC + 2 + digits;
	uint32_t length = 0;
	if (n >= begin)
		memcpy(&length, bytes + AL_NPY_MAGIC + 2, digits);
	if (n < begin || length == 0 || length > n - begin || length > LONGEST_HEADER)
		return al_fail(err, AL_EINPUT, "%s: a header of %" PRIu32 " bytes in a file of %zu",
			path, length, n);
	out->text = begin;
	out->data = begin + length;
	return true;
}

bool al_npy_header_parse(struct al_npy_header *out, const char *path, const char *bytes, size_t n,
	struct al_error *err)
{
	AL_ARENA(scratch);
	AL_JSON(doc);
	AL_TEXT(text);

	*out = (struct al_npy_header){0};
	if (!find_header(out, path, bytes, n, err))
		return false;
	add_as_json(&text, bytes + out->text, out->data - out->text);
	return al_json_parse(&doc, al_format(&scratch, "%s: the header", path), text.data,
		       text.length, err)
		&& read_literal(&doc, path, &scratch, out, err);
}
