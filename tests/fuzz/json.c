/* Strict JSON: parsed; then every node is asked for every kind and for its place. */
#include "base/json.h"
#include "base/json_reader.h"
#include "fuzz.h"

/* A place is found by walking the text: for so many nodes only. */
enum { MOST_NODES = 64 };

static void visit(const struct al_json *doc, const struct al_item *node, int *n_nodes)
{
	static const char *const known[] = {"title", "name"};
	struct al_error err;
	const char *text;
	int64_t whole;
	double real;
	bool boolean;

	if (++*n_nodes > MOST_NODES)
		return;
	FUZZ_CHECK(!al_json_fail(doc, node, &err, "here") && strncmp(err.message, "fuzz:", 5) == 0);
	if (al_json_text(doc, node, &text, &err))
		FUZZ_CHECK(text != NULL);
	if (al_json_whole(doc, node, &whole, &err))
		FUZZ_CHECK(whole > -(INT64_C(1) << 53) && whole < INT64_C(1) << 53);
	if (al_json_real(doc, node, &real, &err))
		FUZZ_CHECK(real == real);
	if (al_json_boolean(doc, node, &boolean, &err))
		FUZZ_CHECK(al_json_kind(node) == AL_JSON_BOOLEAN);
	if (al_json_only(doc, node, known, 2, &err))
		FUZZ_CHECK(al_json_kind(node) == AL_JSON_OBJECT);
	al_json_each (child, node) {
		if (al_json_kind(node) == AL_JSON_OBJECT)
			FUZZ_CHECK(al_json_get(node, al_json_key(child)) == child);
		visit(doc, child, n_nodes);
	}
}

/* The reader without a tree says the same. */
static void compare(struct al_json_reader *reader, const struct al_item *node)
{
	const struct al_item *child = al_json_first(node);
	enum al_json_kind kind = al_json_kind(node);
	const char *text, *expected;

	FUZZ_CHECK(al_json_reader_kind(reader) == kind);
	if (kind == AL_JSON_TEXT) {
		FUZZ_CHECK(al_json_reader_text(reader, NULL, &text, NULL));
		FUZZ_CHECK(
			al_json_text(NULL, node, &expected, NULL) && strcmp(text, expected) == 0);
	} else if (kind == AL_JSON_OBJECT) {
		for (al_json_reader_enter(reader); al_json_reader_member(reader, &text);
			child = al_json_next(child)) {
			FUZZ_CHECK(child && strcmp(text, al_json_key(child)) == 0);
			compare(reader, child);
		}
		FUZZ_CHECK(!child);
	} else if (kind == AL_JSON_ARRAY) {
		for (al_json_reader_enter(reader); al_json_reader_item(reader);
			child = al_json_next(child)) {
			FUZZ_CHECK(child != NULL);
			compare(reader, child);
		}
		FUZZ_CHECK(!child);
	} else {
		al_json_reader_skip(reader);
	}
}

static void read_in_order(const struct al_json *doc, const char *text, size_t size)
{
	struct al_json_reader reader;

	FUZZ_CHECK(al_json_reader_init(&reader, "fuzz", text, size, NULL));
	compare(&reader, doc->root);
	FUZZ_CHECK(reader.p == reader.end);
	al_json_reader_finish(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct al_json doc;
	struct al_error err = {0};
	char *text = malloc(size + 1);
	int n_nodes = 0;

	FUZZ_CHECK(text != NULL);
	if (size)
		memcpy(text, data, size);
	if (al_json_parse(&doc, "fuzz", text, size, &err)) {
		visit(&doc, doc.root, &n_nodes);
		read_in_order(&doc, text, size);
		al_json_finish(&doc);
	} else {
		/* A text that the scan accepts and cJSON does not would be a system error. */
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz:", 5) == 0);
	}
	free(text);
	return 0;
}
