// The geometry of a plot's texts: the space for labels at the ends of lines, and their places.

/** Half of the widest label has to fit a third of the plot, and all labels its height. */
const widthShareMax = 0.33
export const labelHeight = 16
const gap = 8

/** The width that labels at the ends of lines need; 0 if they do not fit or are not needed: then a legend names them. */
export function labelSpace(labelWidths: readonly number[], width: number, height: number): number {
  if (labelWidths.length < 2) return 0
  const space = Math.ceil(Math.max(...labelWidths)) + gap
  return space <= width * widthShareMax && labelWidths.length * labelHeight <= height ? space : 0
}

/** Moves labels apart, as little as needed and within `height`. Takes and returns the middle of each, in the same order. */
export function spreadLabels(middles: readonly number[], height: number): readonly number[] {
  const ascending = middles.map((middle, at) => ({ at, middle })).sort((a, b) => a.middle - b.middle)
  let top = labelHeight / 2
  for (const label of ascending) {
    label.middle = Math.max(label.middle, top)
    top = label.middle + labelHeight
  }
  let bottom = height - labelHeight / 2
  for (const label of ascending.toReversed()) {
    label.middle = Math.min(label.middle, bottom)
    bottom = label.middle - labelHeight
  }
  return ascending.sort((a, b) => a.at - b.at).map(({ middle }) => middle)
}
