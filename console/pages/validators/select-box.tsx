// A checkbox that selects a row of a table for a comparison.

interface SelectBoxProps<T> {
  readonly name: T
  readonly selected: readonly T[]
  readonly onSelect: (selected: readonly T[]) => void
  /** How many rows can be selected. */
  readonly max: number
}

export function SelectBox<T extends string | number>({ name, selected, onSelect, max }: SelectBoxProps<T>) {
  const isSelected = selected.includes(name)
  return (
    <input
      type="checkbox"
      aria-label={`Compare ${name}`}
      checked={isSelected}
      disabled={selected.length >= max && !isSelected}
      onChange={() => onSelect(isSelected ? selected.filter((other) => other !== name) : [...selected, name])}
    />
  )
}
