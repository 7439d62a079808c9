// Filters and pages a list of labels.
import type { LabelRecord } from '#api/contract/wire/explorer.ts'

export const rowsMax = 20

export function filterLabels(labels: readonly LabelRecord[], text: string): readonly LabelRecord[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return labels
  return labels.filter(({ labelname, labelslug, shortdescription, notes }) => {
    const content = `${labelname}\n${labelslug}\n${shortdescription}\n${notes}`.toLowerCase()
    return words.every((word) => content.includes(word))
  })
}

/** The requested page, or the last one. */
export function pageOf<T>(all: readonly T[], requested: number) {
  const pages = Math.max(1, Math.ceil(all.length / rowsMax))
  const page = Math.max(0, Math.min(requested, pages - 1))
  return { rows: all.slice(page * rowsMax, (page + 1) * rowsMax), page, pages }
}
