// The scale of colours for effectiveness from 0 to 100: the same steps in badges, the calendar, plots and lists. The colours
// are the variables `--rating-…` in style.css. The worse a rating, the more it stands out from the card, in both themes,
// so that the steps differ in lightness too.

/** The best first. `name` is that of the colour variable and of the class of badges. */
export const ratingLevels = [
  { from: 99, label: '99 and more', name: 'rating-1' },
  { from: 97, label: '97 to 99', name: 'rating-2' },
  { from: 95, label: '95 to 97', name: 'rating-3' },
  { from: 90, label: '90 to 95', name: 'rating-4' },
  { from: 0, label: 'below 90', name: 'rating-5' },
] as const

const unknownLevel = { label: 'no duties known', name: 'rating-none' } as const

export type RatingLevel = (typeof ratingLevels)[number] | typeof unknownLevel

/** All steps of a legend. */
export const legendLevels: readonly RatingLevel[] = [...ratingLevels, unknownLevel]

/** By the figure that is shown, which has two decimals: a rating that is shown as 99 has the colour of 99. */
export function levelOf(value: number | null | undefined): RatingLevel {
  if (value == null) return unknownLevel
  const shown = Math.round(value * 100) / 100
  return ratingLevels.find(({ from }) => shown >= from) ?? unknownLevel
}

/** A colour for styles. */
export const colourOf = ({ name }: RatingLevel): string => `var(--${name})`
