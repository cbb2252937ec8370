/**
 * A plugin of typedoc: reports members of public interfaces and classes that have no doc comment. typedoc's own check, the
 * kind `Property` of `requiredToBeDocumented`, would also demand a comment for each member of an object in a union, whose
 * meaning is that of the union's type.
 */
import { Application, ReflectionKind } from "typedoc";

export function load(app) {
  app.on(Application.EVENT_VALIDATE_PROJECT, (project) => {
    for (const member of project.getReflectionsByKind(ReflectionKind.Property)) {
      const isNamed = member.parent?.kindOf(ReflectionKind.ClassOrInterface) === true;
      if (
        !isNamed ||
        member.flags.isExternal ||
        member.hasComment() ||
        member.type?.declaration?.signatures?.[0]?.hasComment()
      )
        continue;
      app.logger.validationWarning(`${member.getFriendlyFullName()} does not have any documentation`);
    }
  });
}
