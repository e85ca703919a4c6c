/* Measurements: what an audit can compute from attention modules, one table each.
 *
 * A measurement is one file with one descriptor, and its name in the list below. The code that
 * runs an audit knows no measurement by name: the descriptor contains its needs, when it is taken,
 * the columns that people read first, its lines of the summary and its figures. */
#pragma once

#include "audit/audit.h"
#include "figure/spec.h"

/* When a measurement is taken that wasn't asked for by name. */
enum al_measured {
	AL_MEASURED_ALWAYS,
	AL_MEASURED_FOR_FILES, /* raw values, too long to be read: where tables or figures are
				  written, and then into files only */
	AL_MEASURED_FOR_REPORT, /* the same, for a page */
	AL_MEASURED_WHEN_NAMED, /* minutes of work on a large model */
	AL_MEASURED_WITH_OUTPUTS, /* where a calibration has the heads' outputs */
};

/* The summary goes from what was audited to what could be saved. */
enum al_summary_place {
	AL_SUMMARY_MODULES,
	AL_SUMMARY_HEAD_ALONE,
	AL_SUMMARY_HEADS_TOGETHER,
	AL_SUMMARY_DIFFERENT_HEADS,
	AL_SUMMARY_PAIRS,
	AL_SUMMARY_CONVERSIONS,
	AL_N_SUMMARY_PLACES,
};

/* Lines of the summary, read off the finished table. */
struct al_summary_part {
	enum al_summary_place place;
	void (*add)(struct al_table *summary, const struct al_audit *audit,
		const struct al_table *table); /* NULL: no part */
};

/* Rows of fields for one of them (`when`): heads are compared by their weights' forms, or by the
 * logits and outputs that a calibration recorded on tokens. */
enum { AL_BY_WEIGHTS = 1, AL_ON_TOKENS = 2 };

unsigned al_audit_basis(const struct al_audit *audit);

/* Two columns of a record: how alike heads attend, and how alike what they put out is. */
#define AL_AUDIT_LIKENESS_FIELDS(record, attention, outputs) \
	{{.key = "qk_cosine", .title = "QK cosine", .digits = 3}, AL_MEMBER(record, attention), \
		.when = AL_BY_WEIGHTS}, \
		{{.key = "ov_cosine", .title = "OV cosine", .digits = 3}, \
			AL_MEMBER(record, outputs), .when = AL_BY_WEIGHTS}, \
		{{.key = "logit_correlation", .title = "Logit correlation", .digits = 3}, \
			AL_MEMBER(record, attention), .when = AL_ON_TOKENS}, \
	{ \
		{.key = "output_cka", .title = "Output CKA", .digits = 3}, \
			AL_MEMBER(record, outputs), .when = AL_ON_TOKENS \
	}

/* Notes that heads are compared by their weights though there are inputs. */
void al_audit_note_basis(const struct al_audit *audit, struct al_table *table);

/* Columns shown by default. */
struct al_short_form {
	const char *title; /* NULL: the table's */
	const char *columns[18]; /* NULL-terminated; those that the table has */
	size_t most_rows; /* 0: all */
	/* In place of these columns: fills an empty table. */
	void (*fill)(struct al_table *out, const struct al_table *table);
};

/* Figures of a table. Where the points are none, or have no numbers, nothing is drawn. */
struct al_drawing {
	struct al_figure figure;
	const char *only[2]; /* rows whose column [0] reads [1]; NULL: all rows */
	size_t modules_a_figure; /* figures ID-1, ID-2 ... of so many modules each; 0: one of all */
	bool is_titled_by_module; /* "TITLE in MODULE"; of one module a figure */
	/* Makes points of a figure's rows, in these columns, or in its own where they are NULL.
	 * NULL: the rows are the points. */
	const struct al_table_field *points;
	void (*take_points)(struct al_table *points, const struct al_table *rows);
};

enum { AL_MOST_SUMMARY_PARTS = 2 };

struct al_measurement {
	const char *id, *title;
	enum al_measured measured;
	struct al_needs needs;
	bool needs_own_keys; /* not for heads that share queries and keys already */
	const struct al_table_field
		*fields; /* NULL: columns hang on the audit, and add_columns adds
						them */
	void (*add_columns)(struct al_table *table, const struct al_audit *audit);
	/* Adds the module's rows. */
	bool (*add_module)(struct al_audit *audit, struct al_audit_module *module,
		struct al_table *table, struct al_error *err);
	/* After the last module, cells that need all of them. NULL: there are none. */
	bool (*complete)(const struct al_audit *audit, struct al_table *table,
		struct al_error *err);
	/* Behind that: sorts, cuts. NULL: nothing to do. */
	void (*finish)(struct al_audit *audit, struct al_table *table);
	struct al_short_form short_form; /* without columns and `fill`: people get it when named */
	struct al_summary_part summary[AL_MOST_SUMMARY_PARTS];
	const struct al_drawing *drawings;
	size_t n_drawings;
};

/* The one list, in the order of the answer. */
#define AL_MEASUREMENTS(X) \
	X(heads) \
	X(layers) \
	X(similarity) \
	X(cosines) \
	X(redundant) \
	X(drop) \
	X(pca) \
	X(conversion) \
	X(correlation) \
	X(curves) \
	X(tucker) \
	X(mixing)

#define AL_COUNT_MEASUREMENT(name) +1
enum { AL_N_MEASUREMENTS = AL_MEASUREMENTS(AL_COUNT_MEASUREMENT) };

extern const struct al_measurement *const al_measurements[AL_N_MEASUREMENTS];

void al_measurement_add_columns(const struct al_measurement *measurement, struct al_table *table,
	const struct al_audit *audit);

bool al_measurement_has_short_form(const struct al_measurement *measurement);

/* Fills an empty table; there is a short form. */
void al_measurement_shorten(const struct al_measurement *measurement, const struct al_table *table,
	struct al_table *out);

/* Adds columns (item, value) and rows to an empty table. `tables` are ordered as al_measurements;
 * what would be read off a table that is NULL is left out. */
void al_summary_fill(struct al_table *summary, const struct al_audit *audit,
	struct al_table *const *tables);

/* The first columns of most measurements: module, layer; records of their rows begin with this. */
struct al_audit_place {
	const char *module;
	int64_t layer;
};

#define AL_AUDIT_MODULE_FIELD \
	{ \
		{.key = "module", .title = "Module", .is_key = true}, \
			AL_MEMBER(struct al_audit_place, module) \
	}
#define AL_AUDIT_PLACE_FIELDS \
	AL_AUDIT_MODULE_FIELD, \
	{ \
		{.key = "layer", .title = "Layer", .digits = AL_DIGITS_ALL}, \
			AL_MEMBER(struct al_audit_place, layer) \
	}

struct al_audit_place al_audit_place_of(const struct al_audit_module *module);
