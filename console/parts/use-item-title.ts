// Names the shown item in the document title as soon as its name is known. Until then, the title has the item's id from the
// address.
import { useEffect } from 'preact/compat'
import { joinTitle } from '../titles.ts'

export function useItemTitle(item: string | undefined, pageTitle: string): void {
  useEffect(() => {
    if (item) document.title = joinTitle(item, pageTitle)
  }, [item, pageTitle])
}
