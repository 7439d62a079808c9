// A modal dialog that is open as long as it is mounted.
import { type ComponentProps, useEffect, useRef } from 'preact/compat'

export function Modal(props: ComponentProps<'dialog'>) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return <dialog ref={dialog} {...props} />
}
