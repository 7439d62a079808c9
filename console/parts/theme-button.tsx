// Light or dark; follows the system until somebody chooses.
import { useEffect, useState } from 'react'

const storageKey = 'tetrad-theme'
const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const stored = (): Theme => themes.find((one) => one === localStorage.getItem(storageKey)) ?? 'system'

export function ThemeButton() {
  const [theme, setTheme] = useState(stored)
  useEffect(() => {
    localStorage.setItem(storageKey, theme)
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
    window.dispatchEvent(new Event('tetrad-theme'))
  }, [theme])
  return (
    <label className="field">
      Theme
      <select value={theme} onChange={({ target }) => setTheme(target.value as Theme)}>
        {themes.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  )
}
