/* Colors for dark pages, in OKLab (Ottosson 2020): lightness that looks even. */

#include "figure/canvas.h"

struct lab {
	double l, a, b;
};

static double to_linear(double v)
{
	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double from_linear(double v)
{
	v = fmin(1, fmax(0, v));
	return v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
}

static struct lab to_lab(struct al_color c)
{
	const double r = to_linear(c.red), g = to_linear(c.green), b = to_linear(c.blue);
	const double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
	const double m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
	const double s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);

	return (struct lab){0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
		1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
		0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

static struct al_color from_lab(struct lab c)
{
	const double l = pow(c.l + 0.3963377774 * c.a + 0.2158037573 * c.b, 3);
	const double m = pow(c.l - 0.1055613458 * c.a - 0.0638541728 * c.b, 3);
	const double s = pow(c.l - 0.0894841775 * c.a - 1.2914855480 * c.b, 3);

	return (struct al_color){.red = from_linear(
					 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
		.green = from_linear(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
		.blue = from_linear(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

/* From 0 at `low` to 1 at `high`. */
static double rise(double value, double low, double high)
{
	return fmin(1, fmax(0, (value - low) / (high - low)));
}

struct al_color al_color_on_dark(struct al_color color)
{
	static const double darkest = 0.19, strong_from = 0.68;
	struct lab lab = to_lab(color);
	const double strength = rise(hypot(lab.a, lab.b), 0.04, 0.10);
	const double turned = darkest + (1 - lab.l) * 0.95;

	lab.l = strength * fmax(lab.l, strong_from) + (1 - strength) * turned;
	return from_lab(lab);
}
