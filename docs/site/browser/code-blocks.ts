// Code blocks: copy buttons, the address of the server, and tabs for samples in several languages. The chosen language
// applies to all pages.
import { exampleServer } from '../site-map.ts'
import { element } from './element.ts'
import { readItem, storeItem } from './stored-items.ts'

const itemName = 'tetrad-docs-language'

export function addCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button.copy')) {
    button.addEventListener('click', async () => {
      const code = button.closest('.code')?.querySelector('pre')
      if (code) button.textContent = (await copyText(code)) ? 'Copied' : 'Press Ctrl+C'
    })
    button.addEventListener('blur', () => {
      button.textContent = 'Copy'
    })
  }
}

/** Selects the text where the browser allows no access to the clipboard: on pages without https. */
async function copyText(code: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(code.textContent ?? '')
    return true
  } catch {
    getSelection()?.selectAllChildren(code)
    return false
  }
}

/** Commands, programs and addresses on a page that a server delivers call that server, whatever its port. */
export function nameThisServer(): void {
  for (const code of document.querySelectorAll('code, code .comment, main a'))
    for (const node of code.childNodes)
      if (node instanceof Text) node.data = node.data.replaceAll(exampleServer, location.origin)
}

export function addSampleTabs(): void {
  const groups = [...document.querySelectorAll<HTMLElement>('.samples')].map((group) => {
    const blocks = [...group.querySelectorAll<HTMLElement>('.code')]
    const buttons = blocks.map((block) => {
      const button = element('button', { type: 'button' }, block.querySelector('.code-bar span')?.textContent ?? '')
      button.addEventListener('click', () => choose(block.dataset.language ?? ''))
      return button
    })
    group.prepend(element('div', { class: 'tabs' }, ...buttons))
    return { blocks, buttons }
  })
  const choose = (language: string) => {
    for (const { blocks, buttons } of groups) {
      for (const [at, block] of blocks.entries()) {
        block.hidden = block.dataset.language !== language
        buttons[at]?.setAttribute('aria-pressed', String(!block.hidden))
      }
    }
    storeItem('sessionStorage', itemName, language)
  }
  const stored = readItem('sessionStorage', itemName)
  choose(stored === 'ts' || stored === 'python' ? stored : 'sh')
}
