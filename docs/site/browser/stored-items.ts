// Items in the storage of the browser. Browsers can block it; then nothing is remembered beyond the page.
type Area = 'localStorage' | 'sessionStorage'

export function readItem(area: Area, name: string): string {
  try {
    return window[area].getItem(name) ?? ''
  } catch {
    return ''
  }
}

export function storeItem(area: Area, name: string, value: string): void {
  try {
    window[area].setItem(name, value)
  } catch {
    // Blocked.
  }
}
