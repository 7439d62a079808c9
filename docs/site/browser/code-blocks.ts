// Code blocks: copy buttons, and tabs for samples in several languages. The chosen language applies to all pages.
const storageKey = 'tetrad-docs-language'

export function addCopyButtons(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button.copy')) {
    button.addEventListener('click', async () => {
      const text = button.closest('.code')?.querySelector('pre')?.textContent ?? ''
      await navigator.clipboard.writeText(text)
      button.textContent = 'Copied'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 2000)
    })
  }
}

export function addSampleTabs(): void {
  const groups = [...document.querySelectorAll<HTMLElement>('.samples')].map((group) => {
    const blocks = [...group.querySelectorAll<HTMLElement>('.code')]
    const bar = document.createElement('div')
    bar.className = 'tabs'
    const buttons = blocks.map((block) => {
      const button = document.createElement('button')
      button.type = 'button'
      button.textContent = block.querySelector('.code-bar span')?.textContent ?? ''
      button.addEventListener('click', () => choose(block.dataset.language ?? ''))
      return button
    })
    bar.append(...buttons)
    group.prepend(bar)
    return { blocks, buttons }
  })
  const choose = (language: string) => {
    for (const { blocks, buttons } of groups) {
      for (const [at, block] of blocks.entries()) {
        block.hidden = block.dataset.language !== language
        buttons[at]?.setAttribute('aria-pressed', String(!block.hidden))
      }
    }
    sessionStorage.setItem(storageKey, language)
  }
  const stored = sessionStorage.getItem(storageKey)
  choose(stored === 'ts' || stored === 'python' ? stored : 'sh')
}
