// A modal dialog that is open as long as it is mounted.
import { type ComponentProps, useLayoutEffect, useRef } from 'preact/compat'

export interface DialogProps {
  readonly onClose: () => void
}

export function Modal(props: ComponentProps<'dialog'>) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the next key is pressed, which is meant for the dialog.
  useLayoutEffect(() => {
    const element = dialog.current
    element?.showModal()
    // Returns the focus to the button that opened the dialog.
    return () => element?.close()
  }, [])
  return <dialog ref={dialog} {...props} />
}
