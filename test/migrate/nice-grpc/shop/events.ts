import { Event, type Event_Author } from "../gen/event/v1/event";

const authorOf = ({ author }: Event): string => (author ? author.name : "none");

/** The content of an event as text, read in several forms. */
export function describeEvent(event: Event | undefined): string {
  const { text, size = 0, id } = event || {};
  if (!event) return `nothing ${text} ${size} ${id}`;
  if (event.text !== undefined) return `text ${event.text.length} ${text?.length} ${id}`;
  if (event.author) return `author ${event.author.name} ${authorOf(event)}`;
  return `size ${event.size} ${event.size && event.size + 1} ${event.note ?? "-"} ${authorOf(event)}`;
}

function fill(event: Event, text: string | undefined, author: Event_Author | undefined): Event {
  event.text = text;
  event.author = author;
  return event;
}

export function events(note?: string): Event[] {
  const text: string | undefined = note && `${note}!`;
  return [
    Event.create({ id: "a", text: "one" }),
    Event.create({ id: "b", text: undefined, author: { name: "joe" } }),
    Event.create({ id: "c", size: 4, note }),
    Event.create({ id: "d", text, author: note ? undefined : { name: "ann" } }),
    fill(Event.create({ id: "e" }), "two", undefined),
    fill(Event.create({ id: "f", ...(note ? { text: note } : {}) }), undefined, { name: "eve" }),
    { id: "g", size: (note ?? "none").length },
  ];
}
