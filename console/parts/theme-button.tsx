// Choice of the light or dark theme. The default follows the system.
import { useEffect, useState } from 'preact/compat'
import { Choice } from './controls.tsx'

const storageKey = 'tetrad-theme'
const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const labels: Readonly<Record<Theme, string>> = { system: 'System', light: 'Light', dark: 'Dark' }

const storedTheme = (): Theme => themes.find((name) => name === localStorage.getItem(storageKey)) ?? 'system'

export function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme)
  useEffect(() => {
    localStorage.setItem(storageKey, theme)
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
    window.dispatchEvent(new Event('tetrad-theme'))
  }, [theme])
  return <Choice label="Theme" value={theme} options={themes} labels={labels} onChoose={setTheme} />
}
