"""BPMN 2.0 XML in and out, on top of the ProcessDefinition."""
