// The choice of the light or dark theme, shared with the console. The default follows the system.
const storageKey = 'tetrad-theme'

function storedTheme(): string {
  try {
    return localStorage.getItem(storageKey) ?? 'system'
  } catch {
    // Storage can be blocked, for example for files.
    return 'system'
  }
}

export function applyTheme(theme = storedTheme()): void {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  else delete document.documentElement.dataset.theme
}

export function connectThemeChoice(): void {
  const select = document.querySelector<HTMLSelectElement>('#docs-theme')
  if (!select) return
  select.value = document.documentElement.dataset.theme ?? 'system'
  select.addEventListener('change', () => {
    applyTheme(select.value)
    try {
      localStorage.setItem(storageKey, select.value)
    } catch {
      // The choice then applies to this page only.
    }
  })
}
