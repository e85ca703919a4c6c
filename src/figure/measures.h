/* Distances on a page, in points, that several parts of the layout use. */
#ifndef ATTNLEDGER_FIGURE_MEASURES_H
#define ATTNLEDGER_FIGURE_MEASURES_H

#define AL_EDGE_PT 2.0 /* from the canvas to any ink */
#define AL_TICK_PT 2.5 /* a tick's length */
#define AL_TICK_GAP_PT 2.0 /* from a tick to its label */
#define AL_TITLE_GAP_PT 3.0 /* from labels to the title beyond them */
#define AL_INSET_PT 4.5 /* from the frame to the outermost value: a marker has room */
#define AL_PANEL_GAP_PT 10.0 /* between two frames */
#define AL_LINE_GAP_PT 2.0 /* between rows of a legend */
#define AL_AXIS_WIDTH_PT 0.6

/* The largest side of a square frame. */
#define AL_SQUARE_PT 150.0

#endif
