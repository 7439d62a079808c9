// The script of every documentation page. Pages work without it; it adds search, copy buttons, tabs, the menu on small
// screens, the theme, and the forms that call endpoints.
import '../site.css'
import { addCopyButtons, addSampleTabs, nameThisServer } from './code-blocks.ts'
import { addSearch } from './search-box.ts'
import { applyTheme, connectThemeChoice } from './theme.ts'
import { connectTryIt } from './try-it.ts'

// Before the page is drawn.
document.documentElement.classList.add('js')
applyTheme()
const scriptUrl = (document.currentScript as HTMLScriptElement).src

document.addEventListener('DOMContentLoaded', () => {
  connectThemeChoice()
  connectMenu()
  if (document.documentElement.dataset.served !== undefined) nameThisServer()
  addSampleTabs()
  addCopyButtons()
  addSearch(new URL('.', scriptUrl))
  for (const form of document.querySelectorAll<HTMLFormElement>('form.try-it')) void connectTryIt(form)
  document.querySelector('#docs-menu [aria-current]')?.scrollIntoView({ block: 'nearest' })
})

function connectMenu(): void {
  const button = document.querySelector<HTMLButtonElement>('.menu-button')
  button?.addEventListener('click', () => {
    const isOpen = document.body.classList.toggle('menu-open')
    button.setAttribute('aria-expanded', String(isOpen))
  })
}
