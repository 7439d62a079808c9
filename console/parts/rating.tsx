// An effectiveness as a badge in the colour of its step. The figure is always shown, so the colour is never the only hint.
import { levelOf } from './rating-scale.ts'

interface RatingProps {
  readonly value: number | null | undefined
  /** Default: at most two decimals. */
  readonly text?: string
}

export const formatRating = (value: number | null | undefined): string =>
  value == null ? '–' : value.toLocaleString('en', { maximumFractionDigits: 2 })

export const Rating = ({ value, text = formatRating(value) }: RatingProps) => (
  <span className={`badge rating ${levelOf(value).name}`}>{text}</span>
)
