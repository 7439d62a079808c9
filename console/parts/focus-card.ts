// Moves the focus to the heading of a card that has appeared, and scrolls only as far as needed to show the card.

export function focusCard(headingId: string): void {
  const heading = document.getElementById(headingId)
  if (!heading) return
  heading.tabIndex = -1
  heading.focus({ preventScroll: true })
  heading.closest('section')?.scrollIntoView({ block: 'nearest' })
}
