/* Training's peak against measured ones: tests/data/measured-peaks.json tells where they were
 * measured, and beside each what is derived of it. */
#include "with_catalog.h"

#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "ledger/train.h"

static const char path[] = "tests/data/measured-peaks.json";

enum { MOST_PEAKS = 64 };

struct peaks {
	double off[MOST_PEAKS]; /* derived over measured, less 1 */
	size_t n;
};

static void read_training(const struct al_json *doc, const struct al_item *row,
	struct al_training *t)
{
	const struct {
		const char *key;
		int64_t *at;
	} keys[] = {{"tp", &t->tp}, {"pp", &t->pp}, {"dp", &t->dp}, {"cp", &t->cp}, {"ep", &t->ep},
		{"seq", &t->seq}};
	struct al_error err = {0};

	*t = (struct al_training){.share.parts = AL_ALL_PARTS,
		.batch = 1,
		.interleave = 1,
		.zero = 1,
		.is_flash = true};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const struct al_item *member = al_json_get(row, keys[i].key);
		assert_non_null(member);
		must(al_json_whole(doc, member, keys[i].at, &err), &err);
	}
	t->is_sequence_parallel = t->tp > 1;
	must(al_catalog_recipe(catalog, "megatron", &t->recipe, &err), &err);
}

static void open_ledger(const struct al_json *doc, const struct al_item *config,
	const struct al_training *t, struct al_settings *settings, struct al_ledger *ledger)
{
	static struct al_basis basis;
	const struct al_family *family;
	struct al_error err = {0};
	const char *name;

	al_basis_init(&basis);
	al_settings_init(settings, catalog);
	must(al_catalog_family_for(catalog, doc, config, &family, &name, &err)
			&& al_family_settings(family, doc, config, path, settings, &err),
		&err);
	const struct al_ledger_ask ask = {.catalog = catalog,
		.family = family,
		.settings = settings,
		.basis = &basis,
		.tp = t->tp,
		.detail = t->pp > 1 ? AL_TENSORS_BY_LAYER : AL_TENSORS_BY_KIND};
	must(al_ledger_open(ledger, &ask, &err) && al_ledger_update(ledger, &err), &err);
}

static bool compare(const struct al_json *doc, const struct al_item *row, size_t stage,
	mpq_srcptr total, struct peaks *peaks)
{
	struct al_error err = {0};
	const char *name;
	double measured = 0;
	int64_t derived = 0;

	must(al_json_get_text(doc, row, "case", true, &name, &err)
			&& al_json_real(doc, al_json_at(al_json_get(row, "measured"), stage),
				&measured, &err)
			&& al_json_whole(doc, al_json_at(al_json_get(row, "derived"), stage),
				&derived, &err),
		&err);
	double off = mpq_get_d(total) / (measured * 0x1p20) - 1;
	print_message("# %-52s stage %zu: measured %9.2f MiB, derived %9.2f, %+.2f %%\n", name,
		stage + 1, measured, mpq_get_d(total) / 0x1p20, 100 * off);
	assert_true(peaks->n < MOST_PEAKS);
	peaks->off[peaks->n++] = off;
	if (mpq_cmp_si(total, derived, 1) == 0 && fabs(off) < 0.05)
		return true;
	print_error("%s, stage %zu: %.0f bytes\n", name, stage + 1, mpq_get_d(total));
	return false;
}

static bool check_row(const struct al_json *doc, const struct al_item *row, struct peaks *peaks)
{
	struct al_stage_memory stage;
	struct al_settings settings;
	struct al_training t;
	struct al_ledger ledger;
	struct al_error err = {0};
	const char *model;
	bool ok = true;
	mpq_t total;

	mpq_init(total);
	read_training(doc, row, &t);
	must(al_json_get_text(doc, row, "model", true, &model, &err), &err);
	open_ledger(doc, al_json_get(al_json_get(doc->root, "models"), model), &t, &settings,
		&ledger);
	al_stage_memory_init(&stage);
	for (int64_t i = 0; i < t.pp; i++) {
		must(al_ledger_train(&ledger, &t, i, &stage, &err), &err);
		al_stage_memory_total(&stage, total);
		ok = compare(doc, row, (size_t)i, total, peaks) && ok;
	}
	al_stage_memory_finish(&stage);
	al_ledger_close(&ledger);
	al_settings_finish(&settings);
	mpq_clear(total);
	return ok;
}

static int by_size(const void *a, const void *b)
{
	const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x > y) - (x < y);
}

static void peaks_are_as_measured(void **state)
{
	struct peaks peaks = {.n = 0};
	struct al_error err = {0};
	struct al_json doc;
	size_t wrong = 0;
	(void)state;

	must(al_json_read(&doc, path, &err), &err);
	al_json_each (row, al_json_get(doc.root, "rows"))
		wrong += !check_row(&doc, row, &peaks);
	al_json_finish(&doc);
	qsort(peaks.off, peaks.n, sizeof(*peaks.off), by_size);
	print_message("# of %zu peaks the median is off by %+.3f %%, the worst by %+.2f %%\n",
		peaks.n, 100 * peaks.off[peaks.n / 2], 100 * peaks.off[peaks.n - 1]);
	assert_int_equal(wrong, 0);
	assert_true(fabs(peaks.off[peaks.n / 2]) < 0.03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peaks_are_as_measured),
	};

	return cmocka_run_group_tests_name("measured_peaks", tests, create_catalog,
		destroy_catalog);
}
