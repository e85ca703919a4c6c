/* Strict JSON: parsed; then every node is asked for every kind and for its place. */
#include "base/json.h"
#include "fuzz.h"

/* A place is found by walking the text: for so many nodes only. */
enum { MOST_NODES = 64 };

static void visit(const struct al_json *doc, const struct cJSON *node, int *n_nodes)
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
	al_json_each(child, node) {
		if (al_json_kind(node) == AL_JSON_OBJECT)
			FUZZ_CHECK(al_json_get(node, al_json_key(child)) == child);
		visit(doc, child, n_nodes);
	}
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
		al_json_finish(&doc);
	} else {
		/* A text that the scan accepts and cJSON does not would be a system error. */
		FUZZ_CHECK(err.status == AL_EINPUT && strncmp(err.message, "fuzz:", 5) == 0);
	}
	free(text);
	return 0;
}
