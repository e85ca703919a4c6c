/* The sentences and tiles of an audit, and what is said of copies and their cost: of tables that
 * are written down here. */
#include "unit.h"
#include "written.h"

#include <math.h>

#include "answer/audit_run.h"
#include "answer/compress.h"
#include "answer/shrink.h"
#include "catalog/family.h"

enum { N_MODULES = 3 };

/* An audit of layers 0, 1 and 4. */
struct made {
	struct al_session session;
	struct al_family family;
	struct al_opened_checkpoint opened;
	struct al_audit_run run;
	struct al_table *tables[AL_N_MEASUREMENTS];
	struct al_attention modules[N_MODULES];
	const struct al_attention *measured[N_MODULES];
	struct al_covariance covariance;
	struct al_page_left_out left_out[2];
};

static void begin(struct made *made)
{
	static const int64_t layers[N_MODULES] = {0, 1, 4};

	*made = (struct made){.opened.view.family = &made->family,
		.left_out = {{.module = "layers.2"}, {.module = "layers.3"}}};
	al_arena_init(&made->session.arena);
	made->run = (struct al_audit_run){.session = &made->session,
		.opened = &made->opened,
		.tables = made->tables,
		.measured = made->measured,
		.left_out = made->left_out,
		.n_measured = N_MODULES};
	for (size_t i = 0; i < N_MODULES; i++) {
		made->modules[i].layer = layers[i];
		made->measured[i] = &made->modules[i];
	}
}

static void set_table(struct made *made, const char *id, const char *lines)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++) {
		if (strcmp(al_measurements[i]->id, id) != 0)
			continue;
		if (made->tables[i])
			al_table_finish(made->tables[i]);
		made->tables[i] = al_new(&made->session.arena, struct al_table);
		write_table(made->tables[i], id, lines);
		return;
	}
	fail_msg("no table %s", id);
}

static void end(struct made *made)
{
	for (size_t i = 0; i < AL_N_MEASUREMENTS; i++)
		if (made->tables[i])
			al_table_finish(made->tables[i]);
	al_arena_finish(&made->session.arena);
}

static void check_text(struct made *made, const char *pattern, const char *expected)
{
	struct al_claim claim = {0};

	al_claim_read(&claim, &made->session.arena, pattern);
	assert_string_equal(claim.text ? claim.text : "(none)", expected);
}

/* ---- by weights ---- */

static const char heads[] = "module layer head ov_norm\n"
			    "layers.0 0 0 3\nlayers.0 0 1 4\nlayers.1 1 0 0\nlayers.4 4 0 1\n"
			    "layers.4 4 1 7";

static void heads_are_removable(void **state)
{
	static const char limits[] = " Judged from weights alone.";
	static const struct {
		const char *rows, *text;
	} cases[] = {
		{"twin 0.0301",
			"1 of 5 heads is a near copy of another head. Merging it changes no "
			"layer's scores or values by more than 4 %."},
		{"twin 0.03\ntwin 0.02",
			"2 of 5 heads are near copies of another head. Merging all 2 changes no "
			"layer's scores or values by more than 3 %."},
		{"silent 0.0041",
			"1 of 5 heads writes almost nothing. Dropping it changes no layer's "
			"values by more than 0.5 %."},
		{"silent 0.0009\nsilent 0.0001",
			"2 of 5 heads write almost nothing. Dropping all 2 changes no layer's "
			"values "
			"by more than 0.1 %."},
		{"twin 0.01\nsilent 0.005",
			"2 of 5 heads look removable: 1 is a near copy of another head, 1 writes "
			"almost nothing. Without all 2 no layer's scores or values change by more "
			"than 1 %."},
		{"twin 0.01\nsilent 0.001\ntwin 0\nsilent 0",
			"4 of 5 heads look removable: 2 are near copies of another head, 2 write "
			"almost nothing. Without all 4 no layer's scores or values change by more "
			"than 1 %."},
		{"same~attention -",
			"No head looks removable. The cheapest, layer 4 head 0, writes 20 % of "
			"what "
			"an average head of its layer does; the limit is 10 %. 1 head attends as "
			"another: its queries and keys can be shared."},
		{"same~attention -\nsame~attention -\nother~sharpness -",
			"No head looks removable. The cheapest, layer 4 head 0, writes 20 % of "
			"what "
			"an average head of its layer does; the limit is 10 %. 2 heads attend as "
			"another: their queries and keys can be shared."},
	};
	struct made made;

	(void)state;
	begin(&made);
	set_table(&made, "heads", heads);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_table(&made, "redundant",
			al_format(&made.session.arena, "reason cumulative_error\n%s",
				cases[i].rows));
		check_text(&made, al_audit_verdict_say_removable(&made.run),
			al_format(&made.session.arena, "%s%s", cases[i].text, limits));
	}
	made.family.runs = true;
	made.run.audit.options.covariance = &made.covariance;
	set_table(&made, "redundant", "reason cumulative_error");
	check_text(&made, al_audit_verdict_say_removable(&made.run),
		"No head looks removable. The cheapest, layer 4 head 0, writes 20 % of what an "
		"average head of its layer does; the limit is 10 %. Judged from weights as the "
		"recorded inputs use them: run `calibrate` to judge on text.");
	set_table(&made, "heads", "module layer head ov_norm\nlayers.0 0 0 0\nlayers.1 1 0 0");
	check_text(&made, al_audit_verdict_say_removable(&made.run),
		"No head writes anything: their outputs are zero, whatever they read.");
	set_table(&made, "heads", "module layer head ov_norm\nlayers.0 0 0 -");
	check_text(&made, al_audit_verdict_say_removable(&made.run), "");
	check_text(&made, al_audit_verdict_say_copies(&made.run), "");
	made.covariance.calibration.n_modules = 1;
	check_text(&made, al_audit_verdict_say_copies(&made.run), "");
	set_table(&made, "redundant", "reason cumulative_error\ntwin 0.02");
	check_text(&made, al_audit_verdict_say_copies(&made.run),
		"1 head repeats another: merging it changes no layer's logits or output by more "
		"than "
		"2 %.");
	set_table(&made, "redundant", "reason cumulative_error\ntwin 0.02\ntwin 0.05");
	check_text(&made, al_audit_verdict_say_copies(&made.run),
		"2 heads repeat another: merging them changes no layer's logits or output by more "
		"than 5 %.");
	end(&made);
}

/* ---- on tokens ---- */

static void heads_cost_little(void **state)
{
	static const struct {
		const char *rows, *text;
	} cases[] = {
		{"relative error_dropped\nlayers.0 0 0 10 0.5\nlayers.1 1 0 34.4 0.125",
			"With W_O as it is, none of 2 heads costs less than 10 % of an average "
			"head "
			"of its layer on this text. Cheapest: layer 0 head 0 (10 %; its layer's "
			"output "
			"changes by 50.0 %)."},
		{"relative error_dropped turn\nlayers.0 0 0 20 0.5 3.26\nlayers.1 1 2 9.9 0.125 2",
			"With W_O as it is, 1 of 2 heads costs less than 10 % of an average head "
			"of "
			"its layer on this text. Cheapest: layer 1 head 2 (10 %; the residual "
			"stream "
			"turns by 2.0\302\260)."},
		{"relative error_dropped error_compensated turn_refitted turn place\n"
		 "layers.0 0 0 5 0.5 0.25 3.26 9 tied\nlayers.0 0 1 6 0.5 0.3 4 9 tied\n"
		 "layers.1 1 0 7 0.1 0.1 4 9 tied\nlayers.0 0 3 8 0.5 0.3 4 9 least",
			"With W_O refitted, 4 of 4 heads cost less than 10 % of an average head of "
			"their layer on this text. Cheapest: layer 0 head 0 (5 %; the residual "
			"stream "
			"turns by about 3.3\302\260), which can't be told apart from head 1."},
		{"relative error_dropped error_compensated place\n"
		 "layers.0 0 0 5 0.5 0.25 tied\nlayers.0 0 1 6 0.5 0.3 tied\n"
		 "layers.0 0 2 16 0.5 0.3 tied\nlayers.0 0 3 17 0.5 0.3 tied",
			"With W_O refitted, 2 of 4 heads cost less than 10 % of an average head of "
			"their layer on this text. Cheapest: layer 0 head 0 (5 %; its layer's "
			"output "
			"changes by 25.0 %), which can't be told apart from heads 1, 2 and 3."},
		{"relative error_dropped\nlayers.0 0 0 - 0.5",
			"With W_O as it is, none of 1 heads costs less than 10 % of an average "
			"head "
			"of its layer on this text."},
	};
	struct made made;

	(void)state;
	begin(&made);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_table(&made, "drop",
			al_format(&made.session.arena, "module layer head %s", cases[i].rows));
		check_text(&made, al_audit_verdict(&made.run), cases[i].text);
	}
	made.modules[1].layer = 0; /* then modules are named */
	made.run.n_left_out = 1;
	check_text(&made, al_audit_verdict(&made.run),
		"With W_O as it is, none of 1 heads costs less than 10 % of an average head of its "
		"layer on this text. 1 of 4 layers isn't judged: layers.2 has numbers that are NaN "
		"or "
		"infinite.");
	made.run.n_left_out = 2;
	made.run.ablation = "Removed.";
	check_text(&made, al_audit_verdict(&made.run),
		"Removed. 2 of 5 layers aren't judged: layers.2 and others have numbers that are "
		"NaN "
		"or infinite.");
	end(&made);
}

static void losses_are_named(void **state)
{
	struct made made;

	(void)state;
	begin(&made);
	write_table(&made.run.losses, "losses",
		"module layer head original loss loss_increase_error place\n"
		"layers.0 0 0 2 2.5 - -\nlayers.1 1 1 2 2.25 0.125 tied\nlayers.4 4 0 2 2.3 - "
		"tied");
	check_text(&made, al_audit_verdict_say_losses(&made.run),
		"Without layer 1 head 1 and with W_O refitted the loss rises by 0.2500 +- 0.1250 "
		"nats "
		"per token (12.5 %), 2.0000 to 2.2500. Of 2 other heads tried, 1 can't be told "
		"from it "
		"on these tokens.");
	made.modules[2].layer = 0;
	al_table_finish(&made.run.losses);
	write_table(&made.run.losses, "losses",
		"module layer head embedding_change embedding_change_error place\n"
		"layers.0 0 0 0.5 0.25 -\nlayers.1 1 1 0.75 0.125 -");
	made.family.is_encoder = true;
	check_text(&made, al_audit_verdict_say_losses(&made.run),
		"Without layers.0 head 0 and with W_O refitted embeddings move by 0.5 +- 0.25 in "
		"cosine distance.");
	al_table_finish(&made.run.losses);
	end(&made);
}

/* ---- conversions ---- */

static void conversions_are_exact(void **state)
{
	static const struct {
		const char *rows, *text;
		int64_t n_kv_heads;
	} cases[] = {
		{"gqa-4 - 50 25 1e-6\nmqa - 75 30 1.1e-6",
			"GQA with 4 key/value heads is exact: it saves 50.0 % of the KV cache and "
			"25.0 "
			"% of attention's parameters.",
			4},
		{"gqa-4 - 75 25 1e-7\nmqa - 75 30 1e-7\ngqa-2 - 75 30 1e-7",
			"One key/value head for all (MQA) is exact: it saves 75.0 % of the KV "
			"cache and "
			"30.0 % of attention's parameters.",
			1},
		{"latent-kv kv_rank=2 80 30 0\nmqa - 75 31 0",
			"latent-kv with kv_rank=2 is exact: it saves 80.0 % of the KV cache and "
			"30.0 % "
			"of attention's parameters.",
			0},
		{"tied-kv - 80 30 0",
			"tied-kv is exact: it saves 80.0 % of the KV cache and 30.0 % of "
			"attention's parameters.",
			0},
		{"gqa redundant 80 30 0\nmqa - 75 31 0", "", 0},
		{"gqa-4 - 0 0 0", "", 0},
	};
	struct made made;

	(void)state;
	begin(&made);
	check_text(&made, al_audit_verdict_say_exact(&made.run), "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_table(&made.run.totals, "conversions",
			al_format(&made.session.arena,
				"variant setting cache_saving saving qk_relative_error\n%s",
				cases[i].rows));
		made.run.totals.columns[2].unit = made.run.totals.columns[3].unit = "%";
		check_text(&made, al_audit_verdict_say_exact(&made.run), cases[i].text);
		assert_int_equal(al_audit_verdict_exact_heads(&made.run), cases[i].n_kv_heads);
		al_table_finish(&made.run.totals);
	}
	end(&made);
}

static void conversions_are_small(void **state)
{
	static const struct {
		const char *rows, *text;
	} cases[] = {
		{"a 1 50 0.051 -\nb 2 60 0.06 -",
			"No conversion has a KL divergence of 0.05 or less."},
		{"a 1 50 5e-2 -\nb 2 60 0.06 -",
			"Smallest cache at KL <= 0.05: a (1), 50 % smaller, KL 0.05."},
		{"a 1 50 0.02 -\nb 2 60 0.03 0.01\nc 3 60 0.02 0.01\nd 4 60 0.02 0.01\ne 5 - 0 -",
			"Smallest cache at KL <= 0.05: c (3), 60 % smaller, KL 0.02 +- 0.01."},
		{"a 1 0 0.02 -", "Smallest cache at KL <= 0.05: a (1), 0 % smaller, KL 0.02."},
	};
	struct made made;

	(void)state;
	begin(&made);
	check_text(&made, al_audit_verdict_say_smallest(&made.run), "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_table(&made.run.frontier, "frontier",
			al_format(&made.session.arena,
				"method setting cache_saving kl kl_error\n%s", cases[i].rows));
		check_text(&made, al_audit_verdict_say_smallest(&made.run), cases[i].text);
		al_table_finish(&made.run.frontier);
	}
	end(&made);
}

/* ---- the page ---- */

static const char *tiles_of(struct made *made)
{
	struct al_audit_page page = {0};
	const char *text = "";

	al_audit_verdict_tiles(&made->run, &page);
	for (size_t i = 0; i < page.n_tiles; i++)
		text = al_format(&made->session.arena, "%s%s %s\n", text, page.tiles[i].number,
			page.tiles[i].text);
	return text;
}

static void pages_have_tiles(void **state)
{
	struct made made;

	(void)state;
	begin(&made);
	check_text(&made, tiles_of(&made), "");
	set_table(&made, "heads", heads);
	set_table(&made, "redundant",
		"reason cumulative_error\ntwin 0\ntwin 0\nsilent 0\nsilent 0\nsilent 0");
	set_table(&made, "layers", "module redundancy\nlayers.0 0.244\nlayers.1 0.366");
	check_text(&made, tiles_of(&made),
		"5 removable heads (of 5)\n2 near copies of another head\n3 write almost nothing\n"
		"24 \342\200\223 37 % more overlap between heads than unrelated heads would have, "
		"by "
		"layer\n");
	set_table(&made, "layers", "module redundancy\nlayers.0 -0.001\nlayers.1 0.001");
	set_table(&made, "drop", "module layer head relative\nlayers.0 0 0 9\nlayers.1 1 0 10");
	check_text(&made, tiles_of(&made),
		"1 removable heads (of 2): each costs less than 10 % of an average head of its "
		"layer\n0 % more overlap between heads than unrelated heads would have, by "
		"layer\n");
	write_table(&made.run.totals, "conversions",
		"variant setting cache_saving saving ov_relative_error\ngqa-4 - 0.5 0.25 0");
	write_table(&made.run.losses, "losses",
		"module layer head original loss loss_increase embedding_change\n"
		"layers.0 0 0 2 2.5 0.5 0.125\nlayers.1 1 0 2 2.25 0.25 0.25");
	write_table(&made.run.frontier, "frontier",
		"method setting cache_saving kl kl_error\na 1 0.5 0.02 -");
	set_table(&made, "drop",
		"module layer head relative error_compensated\nlayers.0 0 0 9 0\nlayers.1 1 0 10 "
		"0");
	check_text(&made, tiles_of(&made),
		"50.0 % less KV cache at no error: GQA with 4 key/value heads\n"
		"0.25 nats per token: the loss added without layer 1 head 0\n"
		"50.0 % less cache at KL \342\211\244 0.05: a (1)\n"
		"1 removable heads (of 2): each costs less than 10 % of an average head of its "
		"layer, "
		"W_O refitted\n");
	made.family.is_encoder = true;
	set_table(&made, "drop", "module");
	check_text(&made, tiles_of(&made),
		"50.0 % less KV cache at no error: GQA with 4 key/value heads\n"
		"0.125 cosine distance that embeddings move without layer 0 head 0\n"
		"50.0 % less cache at KL \342\211\244 0.05: a (1)\n5 removable heads (of 5)\n");
	al_table_finish(&made.run.totals);
	al_table_finish(&made.run.losses);
	al_table_finish(&made.run.frontier);
	end(&made);
}

/* ---- two checkpoints ---- */

static void heads_move(void **state)
{
	static const struct {
		const char *rows, *text;
	} cases[] = {
		{"a 0 0 1 0 1 1e-6\na 1 1 1 - - -",
			"All 2 heads are the same in both checkpoints."},
		{"a 0 1 1 0 1 0\na 1 1 1 0 1 0",
			"All 2 heads are the same in both checkpoints; 1 is at another place in "
			"its "
			"layer."},
		{"a 0 1 1 0 1 0\na 1 0 1 0 1 0\na 2 - 1 0 1 0",
			"All 3 heads are the same in both checkpoints; 2 are at another place in "
			"their "
			"layer."},
		{"a 0 0 0.5 0.25 0.25 1.1e-6\na 1 1 0.25 0.5 0.125 0.75\na 2 2 0 0.75 0 0",
			"3 of 3 heads moved. Head 1 of a moved most: its OV form by 75.0 % of its "
			"norm "
			"(cosine 0.125)."},
		{"a 0 1 - - 0.25 0\na 1 0 0.499 0.5 0.25 0.5",
			"The heads are unrelated: the largest cosine of a head with its match is "
			"0.499 "
			"(QK of head 1 of a, matched with head 0)."},
		{"a 0 1 0.5 0.5 0.25 0.25\nb 0 0 0 0 0 0",
			"1 of 2 heads moved; 1 is at another place in its layer. Head 0 of a moved "
			"most: its QK form by 50.0 % of its norm (cosine 0.5)."},
	};
	struct made made;

	(void)state;
	begin(&made);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_table(&made.run.against, "against",
			al_format(&made.session.arena,
				"module head match qk_cosine qk_difference ov_cosine "
				"ov_difference\n%s",
				cases[i].rows));
		check_text(&made, al_audit_against_say(&made.run), cases[i].text);
		al_table_finish(&made.run.against);
	}
	end(&made);
}

/* Up to three files are named. */
static void files_are_named(void **state)
{
	struct made made;
	struct al_files files = {0};

	(void)state;
	begin(&made);
	files.arena = &made.session.arena;
	assert_null(al_files_text(&files));
	al_files_add_path(&files, "a");
	assert_string_equal(al_files_text(&files), "a");
	al_files_add(&files, "out", "b", "csv");
	al_files_add_path(&files, "c");
	assert_string_equal(al_files_text(&files), "a, out/b.csv, c");
	al_files_add_path(&files, "d");
	assert_string_equal(al_files_text(&files), "4 files, a to d");
	assert_non_null(al_files_find(&files, "out", "b", "csv"));
	assert_null(al_files_find(&files, "out", "b", "json"));
	al_files_finish(&files);
	end(&made);
}

/* ---- copies ---- */

/* The session's tables are these. */
static void give_tables(struct made *made, const char *const (*tables)[2], size_t n)
{
	struct al_session *session = &made->session;

	for (size_t i = 0; i < session->n_tables; i++)
		al_table_finish(session->tables[i]);
	session->n_tables = 0;
	for (size_t i = 0; i < n && tables[i][0]; i++) {
		struct al_table table;
		write_table(&table, tables[i][0], tables[i][1]);
		al_session_take(session, &table);
	}
}

#define VERIFY "module input output_error\n"

static void copies_save(void **state)
{
	static const struct {
		const char *tables[2][2];
		enum al_method method;
		bool is_recoded;
		const char *text;
	} cases[] = {
		{{{"compress",
			  "module method original parameters\nlayers.0 ov 400 300\nlayers.1 ov "
			  "400 300\nlayers.2 ov - 5"},
			 {"verify", VERIFY "layers.0 random 0.25\nlayers.1 random 0.5"}},
			AL_METHOD_OV, false,
			"ov saves 24.4 % of the attention parameters in 3 modules (605 of 800 are "
			"left); layer outputs change by at most 50.0 % (layers.1, random inputs). "
			"Run "
			"verify --tokens to measure the loss."},
		{{{"compress", "module method original parameters\nlayers.0 collab 400 500"},
			 {"verify", VERIFY "layers.0 random 0"}},
			AL_METHOD_COLLAB, false,
			"collab adds 25.0 % of the query and key parameters in 1 module (500 of "
			"400 "
			"are left); no layer's output changes. Run verify --tokens to measure the "
			"loss."},
		{{{"compress", "module method original parameters\nlayers.0 ov 400 400"}},
			AL_METHOD_OV, false,
			"ov saves 0 % of the attention parameters in 1 module (400 of 400 are "
			"left). "
			"Run verify --tokens to measure the loss."},
		{{{"compress", "module method original parameters\nlayers.0 ov 0 0"}}, AL_METHOD_OV,
			false, "No layer is changed: every tensor is copied."},
		{{{"compress", "module method original parameters"}}, AL_METHOD_OV, true,
			"No layer is changed but for the number format of its tensors."},
	};
	struct made made;

	(void)state;
	begin(&made);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		give_tables(&made, cases[i].tables, 2);
		check_text(&made,
			al_compress_summarize(&made.session, cases[i].method, cases[i].is_recoded),
			cases[i].text);
	}
	give_tables(&made, NULL, 0);
	end(&made);
}

static void copies_are_verified(void **state)
{
	static const char loss[] = "module original compressed agreement loss_increase_error\n"
				   "- 2 2.5 87.5 0.125",
			  same[] = "module original compressed agreement\n- 2 2 100",
			  cosines[] = "module original compressed\n- 0.5 0.75\n- 0.5 0.125\n- - 3";
	static const struct {
		const char *tables[2][2];
		double tolerance; /* 0: none */
		bool holds, took_original;
		const char *text;
	} cases[] = {
		{{{"verify", VERIFY}}, 0, true, false, "No layer was compressed."},
		{{{"verify", VERIFY "layers.0 random 0"}}, 0, true, false,
			"No layer's output changes."},
		{{{"verify", VERIFY "layers.0 random 0.25"}}, 0, true, false,
			"Layer outputs change by at most 25.0 % (layers.0, random inputs). Add "
			"--tokens "
			"to measure the loss."},
		{{{"verify", VERIFY "layers.0 random 0.25"}}, 0.25, true, false,
			"Layer outputs change by at most 25.0 % (layers.0, random inputs), within "
			"the "
			"tolerance of 25.0 %. Add --tokens to measure the loss."},
		{{{"verify", VERIFY "layers.0 random 0.25"}}, 0.2, false, true,
			"Layer outputs change by at most 25.0 % (layers.0, random inputs), more "
			"than "
			"the tolerance of 20.0 %. Add --tokens to measure the loss."},
		{{{"verify", VERIFY "layers.0 random 0.25"}}, 0.5, false, false,
			"Layer outputs change by at most 25.0 % (layers.0, random inputs), within "
			"the "
			"tolerance of 50.0 %; some tensors that should be copies differ (see the "
			"notes). Add --tokens to measure the loss."},
		{{{"verify", VERIFY "layers.0 random 0.25"}, {"loss", loss}}, 0, true, false,
			"Loss rises by 0.5000 +- 0.1250 nats per token (25.0 %), 2.0000 to 2.5000; "
			"87.5 % of the likeliest tokens are unchanged."},
		{{{"verify", VERIFY "layers.0 random 0"}, {"loss", same}}, 0, false, true,
			"Loss changes by 0 nats per token (2.0000); 100 % of the likeliest tokens "
			"are "
			"unchanged; no layer's output changes; some tensors that should be copies "
			"differ (see the notes): the original's ran in their place."},
		{{{"verify", VERIFY "layers.0 random 0.25"}, {"similarity", cosines}}, 0, true,
			false, "Cosines between sequence embeddings change by at most 0.3750."},
		{{{"verify", VERIFY}, {"similarity", "module original"}}, 0.1, true, false,
			"No layer was compressed, within the tolerance of 10.0 %."},
	};
	struct made made;

	(void)state;
	begin(&made);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct al_verify_options options = {.has_tolerance = cases[i].tolerance > 0,
			.tolerance = cases[i].tolerance};
		give_tables(&made, cases[i].tables, 2);
		check_text(&made,
			al_verify_summarize(&made.session, &options, cases[i].holds,
				cases[i].took_original),
			cases[i].text);
	}
	give_tables(&made, NULL, 0);
	end(&made);
}

/* ---- smaller copies ---- */

/* Three layers, and what was measured of them: half of the bytes, fewer heads in each layer and in
 * some. */
struct shrunk {
	struct made made;
	struct al_model_view view;
	struct al_checkpoint source;
	struct al_drafting from;
	struct al_shrink_goal goal;
	struct al_sample_part parts[AL_N_PARTS_OF_TEXT];
	size_t begin[AL_N_PARTS_OF_TEXT][2];
	struct al_fewer_heads conversions[3][3];
	struct al_shrink_point points[5];
	struct al_shrink shrink;
};

static struct al_shrink_point point(const struct al_fewer_heads *conversion, uint64_t bytes,
	uint64_t cached, double change, double error)
{
	return (struct al_shrink_point){.conversion = conversion,
		.bytes = bytes,
		.cached = cached,
		.choosing = {.change = {change, error, 4},
			.divergence = {change / 2, error / 2, 4}},
		.judging = {.original = {2, 0.5, 4},
			.compressed = {2 + change, 0.5, 4},
			.change = {change, error, 4},
			.divergence = {change / 2, error / 2, 4},
			.n_predicted = 1234}};
}

static void begin_shrunk(struct shrunk *s)
{
	static const size_t tokens[AL_N_PARTS_OF_TEXT] = {100, 110, 120};
	static const struct al_fewer_heads of[3] = {{.method = AL_METHOD_GQA, .setting = 1},
		{.method = AL_METHOD_DROP, .setting = 2}, {.method = AL_METHOD_IDENTITY}};

	*s = (struct shrunk){.view = {.n_modules = 3, .checkpoint = &s->source},
		.source = {.bytes = 5000},
		.from = {.view = &s->view, .path = "a model"}};
	begin(&s->made);
	for (size_t i = 0; i < AL_N_PARTS_OF_TEXT; i++) {
		s->begin[i][1] = tokens[i];
		s->parts[i].all = (struct al_batch){.begin = s->begin[i], .n_sequences = 1};
	}
	for (size_t i = 0; i < 3; i++) {
		s->conversions[0][i] = of[0];
		s->conversions[1][i] = of[1];
		s->conversions[2][i] = of[i];
	}
	s->points[0] = point(NULL, 4000, 800, 0, 0);
	s->points[1] = point(NULL, 2000, 800, 0.01, 0.0625);
	s->points[2] = point(s->conversions[0], 3800, 400, 0.25, 0.125);
	s->points[3] = point(s->conversions[1], 3000, 600, 0.5, 0.125);
	s->points[4] = point(s->conversions[2], 3400, 600, 0.125, 0.0625);
	s->shrink = (struct al_shrink){.from = &s->from,
		.goal = &s->goal,
		.parts = s->parts,
		.points = s->points,
		.n_points = 5,
		.written_bytes = 2500};
	s->goal.context = 512;
}

static void take_sizes(struct shrunk *s)
{
	for (size_t i = 0; i < s->shrink.n_points; i++)
		s->points[i].size = (s->goal.of_file ? s->points[i].bytes : 0)
			+ (s->goal.of_cache ? s->points[i].cached : 0);
}

/* What is said where a point is chosen of these goals. */
static const char *conclude(struct shrunk *s)
{
	static const char *const measured[][2] = {{"frontier",
		"module heads modules share loss_increase loss_increase_error kl\n"
		"- as~they~are - 100 0 0 0\n- as~they~are - 50 0.01 0.0625 0.005\n"
		"- 1~key/value~head~(gqa) each~layer 95 0.25 0.125 0.125\n"
		"- 2~heads~less~(drop) each~layer 75 0.5 0.125 0.25\n"
		"- 1~key/value~head~(gqa)~+~2~heads~less~(drop) 1~+~1~of~3~layers 85 0.125 0.0625 "
		"0.0625"}};

	take_sizes(s);
	give_tables(&s->made, measured, 1);
	s->made.session.tables[0]->columns[3].unit = "%";
	al_shrink_conclude(&s->made.session, &s->shrink);
	return s->made.session.claim.text;
}

static void shrinking_is_told(void **state)
{
	static const char chosen[] =
		"loss rises by 0.5000 +- 0.1250 nats per token (25.0 %), 2.0000 to 2.5000, "
		"perplexity rises by 64.9 %, on 1,234 tokens that nothing was chosen on; llama.cpp "
		"needs a tokenizer in the file, which the source lacks. Heads: 2 heads less (drop) "
		"in "
		"each layer; alone, 1 key/value head (gqa) in each layer adds";
	static const char formats[] = "loss rises by 0.0100 +- 0.0625 nats per token (0.50 %), "
				      "2.0000 to 2.0100, perplexity "
				      "rises by 1.01 %, on 1,234 tokens that nothing was chosen "
				      "on; programs that load the "
				      "source load the copy.";
	struct shrunk s;

	(void)state;
	begin_shrunk(&s);
	struct al_arena *arena = &s.made.session.arena;
	s.goal.limit = 1;
	s.goal.of_file = true;
	assert_string_equal(conclude(&s),
		"Nothing smaller stays within the limit, and nothing was written: the nearest "
		"(50.0 % "
		"of the size, heads as they are) changes loss by 0.01 +- 0.0625 nats.");
	s.shrink.chosen = 1;
	assert_string_equal(conclude(&s),
		al_format(arena,
			"The file shrinks by 50.0 %%, from 4.88 KiB to 2.44 KiB: %s Attention has "
			"nothing to give here, smaller numbers have: 2 heads less (drop) in each "
			"layer "
			"adds 0.5 +- 0.125 nats, 1 key/value head (gqa) in each layer adds 0.25 +- "
			"0.125 nats.",
			formats));
	s.shrink.written_bytes = s.source.bytes;
	s.points[2].choosing.change.error = 0.3;
	assert_string_equal(conclude(&s),
		al_format(arena,
			"The tensors shrink by 50.0 %%, from 3.91 KiB to 1.95 KiB: %s The text is "
			"too "
			"short to measure what heads cost: 2 heads less (drop) in each layer adds "
			"0.5 "
			"+- 0.125 nats, 1 key/value head (gqa) in each layer changes loss by 0.25 "
			"+- "
			"0.125 nats.",
			formats));
	s.goal.of_cache = true;
	s.shrink.chosen = 4;
	assert_string_equal(conclude(&s),
		"The tensors and the cache shrink by 16.7 %, from 4.69 KiB to 3.91 KiB at context "
		"512: "
		"loss rises by 0.1250 +- 0.0625 nats per token (6.25 %), 2.0000 to 2.1250, "
		"perplexity "
		"rises by 13.3 %, on 1,234 tokens that nothing was chosen on; the notes name what "
		"loads the copy. Heads: 1 key/value head (gqa) + 2 heads less (drop) in 1 + 1 of 3 "
		"layers.");
	s.points[2].choosing.change.error = 0.125;
	s.shrink.written_bytes = 2500;
	s.from.is_gguf = true;
	s.shrink.chosen = 3;
	assert_string_equal(conclude(&s),
		al_format(arena,
			"The file and the cache shrink by 46.6 %%, from 5.66 KiB to 3.03 KiB at "
			"context "
			"512: %s 0.25 +- 0.125 nats.",
			chosen));
	s.goal.of_file = false;
	s.goal.is_divergence = true;
	assert_string_equal(conclude(&s),
		al_format(arena,
			"The cache shrinks by 25.0 %%, from 800 B to 600 B at context 512: %s "
			"0.125 "
			"nats of KL divergence.",
			chosen));
	static const char alone[] =
		" Alone, 2 heads less (drop) in each layer adds 0.25 nats of KL divergence, 1 "
		"key/value head (gqa) in each layer adds 0.125 nats of KL divergence.";
	s.shrink.chosen = 0;
	assert_string_equal(conclude(&s),
		al_format(arena,
			"Nothing smaller stays within the limit, and nothing was written: the "
			"nearest "
			"(85.0 %% of the size, heads 1 key/value head (gqa) + 2 heads less (drop)) "
			"adds "
			"0.0625 nats of KL divergence.%s",
			alone));
	s.goal.limit = 0;
	s.goal.budget = 0.5;
	assert_string_equal(conclude(&s),
		al_format(arena,
			"Nothing as small can be written, and nothing was written: the nearest "
			"(95.0 "
			"%% of the size, heads 1 key/value head (gqa)) adds 0.125 nats of KL "
			"divergence.%s",
			alone));
	s.shrink.n_points = 1;
	assert_string_equal(conclude(&s),
		"Nothing as small can be written; no smaller copy can be written at all.");
	give_tables(&s.made, NULL, 0);
	end(&s.made);
}

/* A point a row, by what became of it. */
static void points_are_listed(void **state)
{
	static const char *const rows[2][5] = {
		{"as they are: original", "as they are: no smaller",
			"1 key/value head (gqa): loses too much", "2 heads less (drop): refuted",
			"1 key/value head (gqa) + 2 heads less (drop): within the limit"},
		{"as they are: original", "as they are: too large",
			"1 key/value head (gqa): too large", "2 heads less (drop): refuted",
			"1 key/value head (gqa) + 2 heads less (drop): chosen"},
	};
	static const char *const layers[] = {"", "", "each layer", "each layer",
		"1 + 1 of 3 layers"};
	struct shrunk s;

	(void)state;
	begin_shrunk(&s);
	s.conversions[1][1].setting = 2;
	s.goal.of_cache = true;
	take_sizes(&s);
	s.points[3].is_judged = s.points[4].is_accepted = true;
	s.points[1].choosing.change.error = 0.125;
	for (int i = 0; i < 2; i++) {
		struct al_error err;
		s.goal.limit = i ? 0 : 0.1;
		s.points[1].is_accepted = !i;
		s.shrink.chosen = i ? 4 : 0;
		s.shrink.n_back = (size_t)i + 1;
		give_tables(&s.made, NULL, 0);
		assert_true(al_shrink_add_tables(&s.made.session, &s.shrink, &err));
		const struct al_table *table = s.made.session.tables[0];
		assert_int_equal(table->n_rows, 5);
		for (size_t row = 0; row < 5; row++) {
			const char *text = al_format(&s.made.session.arena, "%s: %s",
				al_table_text(table, row, "heads"),
				al_table_text(table, row, "verdict"));
			assert_string_equal(text, rows[i][row]);
			assert_string_equal(al_table_text(table, row, "modules"), layers[row]);
		}
		const char *notes = "";
		for (size_t n = 0; n < table->n_notes; n++)
			notes = al_format(&s.made.session.arena, "%s%s\n", notes, table->notes[n]);
		static const char *const expected[2] = {"1 copy is within the limit by the mean, "
							"but the standard error alone is larger "
							"than the limit: a longer text may accept "
							"it\n1 point within the limit on the "
							"second part of the tokens exceeded it on "
							"the third; at most 4 are given up\n"
							"calibrated on 100 tokens, chosen on 110 "
							"others by mean and one standard error, "
							"judged on the last 120 by the mean\n",
			"2 points within the limit on the second part of the tokens exceeded it on "
			"the "
			"third; at most 4 are given up\ncalibrated on 100 tokens"};
		assert_memory_equal(notes, expected[i], strlen(expected[i]));
		assert_non_null(strstr(notes, "cache: 512 tokens in f16"));
	}
	give_tables(&s.made, NULL, 0);
	end(&s.made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_removable),
		cmocka_unit_test(heads_cost_little),
		cmocka_unit_test(losses_are_named),
		cmocka_unit_test(conversions_are_exact),
		cmocka_unit_test(conversions_are_small),
		cmocka_unit_test(pages_have_tiles),
		cmocka_unit_test(heads_move),
		cmocka_unit_test(files_are_named),
		cmocka_unit_test(copies_save),
		cmocka_unit_test(copies_are_verified),
		cmocka_unit_test(shrinking_is_told),
		cmocka_unit_test(points_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
