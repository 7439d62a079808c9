// The choice of the light or dark theme, shared with the console. The default follows the system.
import { readItem, storeItem } from './stored-items.ts'

const itemName = 'tetrad-theme'

export function applyTheme(theme = readItem('localStorage', itemName)): void {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  else delete document.documentElement.dataset.theme
}

export function connectThemeChoice(): void {
  const select = document.querySelector<HTMLSelectElement>('#docs-theme')
  if (!select) return
  select.value = document.documentElement.dataset.theme ?? 'system'
  select.addEventListener('change', () => {
    applyTheme(select.value)
    storeItem('localStorage', itemName, select.value)
  })
}
