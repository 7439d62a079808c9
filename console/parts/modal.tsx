// A modal dialog that is open as long as it is mounted.
import { type ComponentProps, useLayoutEffect, useRef } from 'preact/compat'

export interface DialogProps {
  readonly onClose: () => void
}

export function Modal(props: ComponentProps<'dialog'>) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the next key is pressed, which is meant for the dialog.
  useLayoutEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    // After the dialog is gone, which keeps the focus inside, return it to the button that opened the dialog.
    return () => queueMicrotask(() => focusIfNothingIs(opener))
  }, [])
  return <dialog ref={dialog} {...props} />
}

function focusIfNothingIs(element: Element | null): void {
  if (document.activeElement === document.body && element instanceof HTMLElement) element.focus()
}
