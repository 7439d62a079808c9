// Formats for figures that may be missing.
import { formatFigure } from '../../parts/plot-format.ts'

type Value = number | null | undefined

export const none = '–'
const formatOrNone = (value: Value, places: number, unit = ''): string =>
  value == null ? none : `${formatFigure(value, places)}${unit}`

// The number of decimals is fixed, so that the figures of a column line up. `places` is what the axis of a plot needs of it.
const [sharePlaces, slotPlaces] = [4, 3]

/** `places` are those of the share: the percentage has two less. */
export const share = (value: Value, places = sharePlaces): string =>
  formatOrNone(value == null ? value : value * 100, Math.max(0, Math.min(places, sharePlaces) - 2), ' %')
export const decimal = (value: Value): string => formatOrNone(value, slotPlaces)
export const slots = (value: Value, places = slotPlaces): string =>
  formatOrNone(value, Math.min(places, slotPlaces), ' slots')
