// An effectiveness as a badge in the colour of its step. The figure is always shown, so the colour is never the only hint.
import { levelOf } from './rating-scale.ts'

interface RatingProps {
  readonly value: number | null | undefined
}

const placesMax = 2

/** Two decimals, so that ratings below each other line up. The axis of a plot needs fewer. */
export const formatRating = (value: number | null | undefined, places = placesMax): string =>
  value == null ? '–' : value.toFixed(Math.min(places, placesMax))

export const Rating = ({ value }: RatingProps) => (
  <span className={`badge rating ${levelOf(value).name}`}>{formatRating(value)}</span>
)
