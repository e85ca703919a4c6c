/* PNG through libpng; a repair of cairo's PDF. */
#include "figure/encode.h"

#include <math.h>
#include <png.h>
#include <stdint.h>
#include <string.h>

static void append(png_structp png, png_bytep bytes, size_t length)
{
	al_text_add_bytes(png_get_io_ptr(png), (const char *)bytes, length);
}

static void flush(png_structp png)
{
	(void)png;
}

static void refuse(png_structp png, png_const_charp message)
{
	al_fail(png_get_error_ptr(png), AL_ESYSTEM, "cannot encode the PNG: %s", message);
	png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp message)
{
	(void)png;
	(void)message;
}

/* Flat colours compress best without a filter, and trying all of them would double the time. */
static void describe(png_structp png, png_infop info, cairo_surface_t *image, double pixels_per_pt)
{
	png_uint_32 per_meter = (png_uint_32)lround(pixels_per_pt * 72 / 0.0254);

	png_set_IHDR(png, info, (png_uint_32)cairo_image_surface_get_width(image),
		(png_uint_32)cairo_image_surface_get_height(image), 8, PNG_COLOR_TYPE_RGB,
		PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_set_pHYs(png, info, per_meter, per_meter, PNG_RESOLUTION_METER);
	png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
	png_set_compression_level(png, 5);
}

/* A pixel of RGB24 is 0x00RRGGBB in the machine's byte order. */
static void set_order(png_structp png)
{
	const uint16_t one = 1;
	const bool is_little = *(const unsigned char *)&one == 1;

	png_set_filler(png, 0, is_little ? PNG_FILLER_AFTER : PNG_FILLER_BEFORE);
	if (is_little)
		png_set_bgr(png);
}

static void write_rows(png_structp png, cairo_surface_t *image)
{
	const unsigned char *pixels = cairo_image_surface_get_data(image);
	const int height = cairo_image_surface_get_height(image);

	for (int y = 0; y < height; y++)
		png_write_row(png, pixels + y * (ptrdiff_t)cairo_image_surface_get_stride(image));
}

bool al_encode_png(cairo_surface_t *image, double pixels_per_pt, struct al_text *out,
	struct al_error *err)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, err, refuse, ignore);
	png_infop info = png ? png_create_info_struct(png) : NULL;

	if (!info) {
		png_destroy_write_struct(&png, &info);
		return al_fail(err, AL_ESYSTEM, "cannot encode the PNG: out of memory");
	}
	if (setjmp(png_jmpbuf(png))) {
		png_destroy_write_struct(&png, &info);
		return false;
	}
	png_set_write_fn(png, out, append, flush);
	describe(png, info, image, pixels_per_pt);
	png_write_info(png, info);
	set_order(png);
	write_rows(png, image);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	return true;
}

/* A date of the same length, without its seconds, so that no offset in the file changes. */
void al_encode_pdf_date(struct al_text *pdf)
{
	static const char found[] = "/CreationDate (20000101000000Z)";
	static const char wanted[] = "/CreationDate (D:200001010000Z)";
	size_t length = strlen(found);

	for (size_t i = 0; i + length <= pdf->length; i++)
		if (memcmp(pdf->data + i, found, length) == 0)
			memcpy(pdf->data + i, wanted, length);
}
